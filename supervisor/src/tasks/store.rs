//! All Tasks that are kept, and who may see them.
//!
//! Promises: a Task is found only by its own caller; ended ones are bounded in count, in bytes and in age. What goes first: of the
//! caller who keeps most, the Task that ended longest ago; when nobody has an ended one, the Task that has waited for its
//! client longest. A Task that is submitted or working never goes. A message's id leads to one Task per caller, for as
//! long as that Task is kept. Refuses to know what happens in a Task.

use super::budget::Budget;
use super::entry::Entry;
use crate::a2a::{MessageId, TaskId, TaskState, Timestamp};
use musegate_protocol::bounded::Label;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A message that was taken.
#[derive(Clone, Debug)]
pub(super) struct Said {
    pub(super) digest: [u8; 32],
    pub(super) entry: Arc<Entry>,
    pub(super) turn: u32,
}

/// Where a kept Task stands.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) entry: Arc<Entry>,
    /// Grows with every change of status of any Task.
    pub(super) rank: u64,
    pub(super) state: TaskState,
    pub(super) at: Timestamp,
    since: Instant,
    messages: Vec<MessageId>,
    alias: Option<String>,
}

/// What one caller has.
#[derive(Debug, Default)]
struct Shelf {
    /// By rank, so that the newest status is last.
    order: BTreeMap<u64, TaskId>,
    ended: BTreeSet<u64>,
    waiting: BTreeSet<u64>,
    said: HashMap<MessageId, Said>,
    aliases: HashMap<String, TaskId>,
}

#[derive(Debug)]
pub(super) struct Store {
    most: usize,
    age: Duration,
    budget: Arc<Budget>,
    places: HashMap<TaskId, Place>,
    shelves: HashMap<Label, Shelf>,
    ranks: u64,
}

impl Store {
    pub(super) fn new(most: usize, age: Duration, budget: Arc<Budget>) -> Self {
        Self { most, age, budget, places: HashMap::new(), shelves: HashMap::new(), ranks: 0 }
    }

    pub(super) fn find(&self, caller: &Label, id: &TaskId) -> Option<&Arc<Entry>> {
        self.places.get(id).map(|place| &place.entry).filter(|entry| entry.caller == *caller)
    }

    /// By the name that this caller gave it, in the early dialect.
    pub(super) fn find_alias(&self, caller: &Label, alias: &str) -> Option<&Arc<Entry>> {
        let id = self.shelves.get(caller)?.aliases.get(alias)?;
        self.find(caller, id)
    }

    pub(super) fn said(&self, caller: &Label, message: &MessageId) -> Option<&Said> {
        self.shelves.get(caller)?.said.get(message)
    }

    /// Keeps a new Task. Make room first.
    pub(super) fn keep(&mut self, entry: &Arc<Entry>, alias: Option<&str>) {
        let shelf = self.shelves.entry(entry.caller.clone()).or_default();
        if let Some(alias) = alias {
            shelf.aliases.insert(alias.to_owned(), entry.id.clone());
        }
        let place = Place {
            entry: Arc::clone(entry),
            rank: 0,
            state: TaskState::Submitted,
            at: Timestamp::default(),
            since: Instant::now(),
            messages: Vec::new(),
            alias: alias.map(str::to_owned),
        };
        self.places.insert(entry.id.clone(), place);
        self.note(entry);
    }

    /// A message began a turn of a kept Task.
    pub(super) fn note_message(&mut self, entry: &Arc<Entry>, message: MessageId, digest: [u8; 32], turn: u32) {
        if let Some(place) = self.places.get_mut(&entry.id) {
            place.messages.push(message.clone());
            let said = Said { digest, entry: Arc::clone(entry), turn };
            self.shelves.entry(entry.caller.clone()).or_default().said.insert(message, said);
        }
    }

    /// Nothing came of a message: it may be sent again.
    pub(super) fn forget_message(&mut self, entry: &Entry, message: &MessageId) {
        if let Some(shelf) = self.shelves.get_mut(&entry.caller) {
            shelf.said.remove(message);
        }
    }

    /// A Task's status has changed: its place in the order is the newest.
    pub(super) fn note(&mut self, entry: &Arc<Entry>) {
        let Some(place) = self.places.get_mut(&entry.id) else { return };
        let shelf = self.shelves.entry(entry.caller.clone()).or_default();
        shelf.order.remove(&place.rank);
        shelf.ended.remove(&place.rank);
        shelf.waiting.remove(&place.rank);
        self.ranks = self.ranks.saturating_add(1);
        place.rank = self.ranks;
        (place.state, place.at) = entry.lock().stands();
        place.since = Instant::now();
        shelf.order.insert(place.rank, entry.id.clone());
        if place.state.is_terminal() {
            shelf.ended.insert(place.rank);
        } else if place.state.is_interrupted() {
            shelf.waiting.insert(place.rank);
        }
    }

    /// One caller's Tasks with ranks below a bound, newest status first.
    pub(super) fn of(&self, caller: &Label, below: u64) -> impl Iterator<Item = &Place> {
        let shelf = self.shelves.get(caller);
        let ids = shelf.into_iter().flat_map(move |shelf| shelf.order.range(..below).rev().map(|(_, id)| id));
        ids.filter_map(|id| self.places.get(id))
    }

    /// Lets go what is too old, and as much as it takes for one more Task and so many bytes. What was let go is returned,
    /// to be dropped when no lock is held; those that waited for their client have to be ended.
    pub(super) fn make_room(&mut self, tasks: usize, bytes: u64) -> Vec<Arc<Entry>> {
        let mut gone = self.drop_old();
        while self.places.len().saturating_add(tasks) > self.most {
            let Some(entry) = self.let_go() else { break };
            gone.push(entry);
        }
        // Bytes come back when the last reader of a Task has gone too, so the count of what was let go counts here.
        let mut coming: u64 = gone.iter().map(|entry| entry.lock().charged()).sum();
        while !self.budget.has_room(bytes.saturating_sub(coming)) {
            let Some(entry) = self.let_go() else { break };
            coming = coming.saturating_add(entry.lock().charged());
            gone.push(entry);
        }
        gone
    }

    /// Tasks that are submitted or working.
    pub(super) fn running(&self) -> Vec<Arc<Entry>> {
        let active = |place: &&Place| !place.state.is_terminal() && !place.state.is_interrupted();
        self.places.values().filter(active).map(|place| Arc::clone(&place.entry)).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    fn drop_old(&mut self) -> Vec<Arc<Entry>> {
        let mut gone = Vec::new();
        let age = self.age;
        let mut old = Vec::new();
        for shelf in self.shelves.values() {
            let too_old = |id: &&TaskId| self.places.get(*id).is_some_and(|place| place.since.elapsed() > age);
            let ids = |ranks: &BTreeSet<u64>| -> Vec<TaskId> {
                let ids = ranks.iter().filter_map(|rank| shelf.order.get(rank));
                ids.take_while(too_old).cloned().collect()
            };
            old.extend(ids(&shelf.ended));
            old.extend(ids(&shelf.waiting));
        }
        gone.extend(old.iter().filter_map(|id| self.remove(id)));
        gone
    }

    fn let_go(&mut self) -> Option<Arc<Entry>> {
        let first = |pick: fn(&Shelf) -> &BTreeSet<u64>| {
            let most =
                self.shelves.values().filter(|shelf| !pick(shelf).is_empty()).max_by_key(|shelf| shelf.order.len());
            most.and_then(|shelf| shelf.order.get(pick(shelf).first()?).cloned())
        };
        let id = first(|shelf| &shelf.ended).or_else(|| first(|shelf| &shelf.waiting))?;
        self.remove(&id)
    }

    fn remove(&mut self, id: &TaskId) -> Option<Arc<Entry>> {
        let place = self.places.remove(id)?;
        let caller = &place.entry.caller;
        if let Some(shelf) = self.shelves.get_mut(caller) {
            shelf.order.remove(&place.rank);
            shelf.ended.remove(&place.rank);
            shelf.waiting.remove(&place.rank);
            for message in &place.messages {
                if shelf.said.get(message).is_some_and(|said| said.entry.id == *id) {
                    shelf.said.remove(message);
                }
            }
            if let Some(alias) = place.alias.as_ref().filter(|alias| shelf.aliases.get(*alias) == Some(id)) {
                shelf.aliases.remove(alias);
            }
            if shelf.order.is_empty() {
                self.shelves.remove(caller);
            }
        }
        Some(place.entry)
    }
}
