//! What was said before in a conversation, for its next message: the last exchanges of each (caller, contextId), in
//! memory only.
//!
//! Promises: bounded in exchanges, in bytes of one conversation and of all, in number and in age; what goes first is the
//! conversation not used for longest, of the caller who has most. Nobody reads another caller's. Roles are ours: what
//! was asked and what was answered are kept apart from the start. Refuses to know Tasks' states.

use crate::a2a::{ContextId, TaskId};
use musegate_protocol::bounded::{Label, Text};
use musegate_protocol::message::{Role, Turn};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What is kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Exchanges of one conversation.
    pub(super) exchanges: usize,
    /// Bytes of one conversation, and of all.
    pub(super) bytes: usize,
    pub(super) all_bytes: usize,
    /// Conversations.
    pub(super) contexts: usize,
    /// Longest rest of a conversation.
    pub(super) age: Duration,
}

/// What was asked, and what was answered.
#[derive(Clone, Debug)]
pub(super) struct Exchange {
    pub(super) task: TaskId,
    pub(super) asked: Arc<str>,
    pub(super) answered: Arc<str>,
}

impl Exchange {
    /// Texts are cut so that both together are about `most` bytes, the room of one conversation.
    pub(super) fn new(task: TaskId, asked: &str, answered: &str, most: usize) -> Self {
        let half = most / 2;
        Self { task, asked: cut(asked, half), answered: cut(answered, half) }
    }

    fn bytes(&self) -> usize {
        self.asked.len().saturating_add(self.answered.len())
    }

    pub(super) fn turns(&self) -> [Turn; 2] {
        let turn = |role, text: &str| Turn { role, text: Text::cut(text) };
        [turn(Role::Caller, &self.asked), turn(Role::Agent, &self.answered)]
    }
}

#[derive(Debug)]
struct Context {
    exchanges: VecDeque<Exchange>,
    bytes: usize,
    /// Its place in the order of use.
    used: u64,
    at: Instant,
}

#[derive(Debug, Default)]
struct Shelf {
    contexts: HashMap<ContextId, Context>,
    by_use: BTreeMap<u64, ContextId>,
}

#[derive(Debug)]
pub(super) struct Memory {
    limits: Limits,
    shelves: HashMap<Label, Shelf>,
    contexts: usize,
    bytes: usize,
    uses: u64,
}

impl Memory {
    pub(super) fn new(limits: Limits) -> Self {
        Self { limits, shelves: HashMap::new(), contexts: 0, bytes: 0, uses: 0 }
    }

    /// The exchanges of a conversation, oldest first.
    pub(super) fn of(&mut self, caller: &Label, context: &ContextId) -> Vec<Exchange> {
        self.forget_old();
        let found = self.shelves.get(caller).and_then(|shelf| shelf.contexts.get(context));
        found.map(|context| context.exchanges.iter().cloned().collect()).unwrap_or_default()
    }

    /// Remembers one more.
    pub(super) fn add(&mut self, caller: &Label, context: &ContextId, exchange: Exchange) {
        if self.limits.exchanges == 0 {
            return;
        }
        self.forget_old();
        let mut kept = self.remove(caller, context).unwrap_or_default();
        kept.push_back(exchange);
        let mut bytes: usize = kept.iter().map(Exchange::bytes).sum();
        while kept.len() > self.limits.exchanges || (bytes > self.limits.bytes && kept.len() > 1) {
            bytes = bytes.saturating_sub(kept.pop_front().map_or(0, |exchange| exchange.bytes()));
        }
        while self.contexts >= self.limits.contexts || self.bytes.saturating_add(bytes) > self.limits.all_bytes {
            if !self.forget_one() {
                break;
            }
        }
        self.uses = self.uses.saturating_add(1);
        let (used, at) = (self.uses, Instant::now());
        let shelf = self.shelves.entry(caller.clone()).or_default();
        shelf.by_use.insert(used, context.clone());
        shelf.contexts.insert(context.clone(), Context { exchanges: kept, bytes, used, at });
        self.contexts = self.contexts.saturating_add(1);
        self.bytes = self.bytes.saturating_add(bytes);
    }

    fn remove(&mut self, caller: &Label, context: &ContextId) -> Option<VecDeque<Exchange>> {
        let shelf = self.shelves.get_mut(caller)?;
        let gone = shelf.contexts.remove(context)?;
        shelf.by_use.remove(&gone.used);
        if shelf.contexts.is_empty() {
            self.shelves.remove(caller);
        }
        self.contexts = self.contexts.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(gone.bytes);
        Some(gone.exchanges)
    }

    /// The conversation not used for longest, of the caller who has most. Whether there was one.
    fn forget_one(&mut self) -> bool {
        let most = self.shelves.iter().max_by_key(|(_, shelf)| shelf.contexts.len());
        let oldest = most.and_then(|(caller, shelf)| Some((caller.clone(), shelf.by_use.values().next()?.clone())));
        oldest.is_some_and(|(caller, context)| self.remove(&caller, &context).is_some())
    }

    fn forget_old(&mut self) {
        let age = self.limits.age;
        let oldest = |(caller, shelf): (&Label, &Shelf)| {
            let context = shelf.by_use.values().next()?;
            let old = shelf.contexts.get(context).is_some_and(|context| context.at.elapsed() > age);
            old.then(|| (caller.clone(), context.clone()))
        };
        while let Some((caller, context)) = self.shelves.iter().find_map(oldest) {
            self.remove(&caller, &context);
        }
    }
}

fn cut(text: &str, most: usize) -> Arc<str> {
    match text.get(..text.floor_char_boundary(most)) {
        Some(head) if head.len() < text.len() => format!("{head} […]").into(),
        _ => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits =
        Limits { exchanges: 6, bytes: 1000, all_bytes: 3000, contexts: 4, age: Duration::from_secs(3600) };

    fn label(text: &str) -> Label {
        Label::new(text).unwrap()
    }

    fn add(memory: &mut Memory, caller: &str, context: &str, asked: &str) {
        let exchange = Exchange::new(TaskId("t".into()), asked, "answer", LIMITS.bytes);
        memory.add(&label(caller), &ContextId(context.into()), exchange);
    }

    fn asked(memory: &mut Memory, caller: &str, context: &str) -> Vec<String> {
        let all = memory.of(&label(caller), &ContextId(context.into()));
        all.iter().map(|exchange| exchange.asked.to_string()).collect()
    }

    #[test]
    fn the_last_six_exchanges_of_one_caller_s_conversation_are_kept_in_order() {
        let mut memory = Memory::new(LIMITS);
        for n in 0..9 {
            add(&mut memory, "ann", "c", &n.to_string());
        }
        add(&mut memory, "bob", "c", "bob's");
        assert_eq!(asked(&mut memory, "ann", "c"), ["3", "4", "5", "6", "7", "8"]);
        assert_eq!(asked(&mut memory, "bob", "c"), ["bob's"]);
        assert!(asked(&mut memory, "ann", "d").is_empty());
        let turns = memory.of(&label("bob"), &ContextId("c".into()))[0].turns();
        assert_eq!((turns[0].role, turns[1].role), (Role::Caller, Role::Agent));
    }

    #[test]
    fn bytes_of_one_conversation_and_of_all_are_bounded() {
        let mut memory = Memory::new(LIMITS);
        for n in 0..40 {
            add(&mut memory, "ann", &format!("c{}", n % 3), &"x".repeat(300 + n));
            let sum: usize = memory.shelves.values().flat_map(|s| s.contexts.values()).map(|c| c.bytes).sum();
            assert_eq!(memory.bytes, sum);
            assert!(
                sum <= LIMITS.all_bytes && memory.shelves[&label("ann")].contexts.values().all(|c| c.bytes <= 1010)
            );
        }
        add(&mut memory, "ann", "long", &"é".repeat(5000));
        assert_eq!(asked(&mut memory, "ann", "long")[0].len(), 500 + " […]".len());
    }

    #[test]
    fn who_has_most_conversations_loses_the_one_unused_for_longest() {
        let mut memory = Memory::new(LIMITS);
        add(&mut memory, "bob", "b", "1");
        for n in 0..3 {
            add(&mut memory, "ann", &format!("a{n}"), "1");
        }
        add(&mut memory, "ann", "a0", "2");
        add(&mut memory, "ann", "new", "1");
        assert!(asked(&mut memory, "ann", "a1").is_empty());
        assert_eq!(asked(&mut memory, "ann", "a0"), ["1", "2"]);
        assert_eq!(asked(&mut memory, "bob", "b"), ["1"]);
    }

    #[test]
    fn an_old_conversation_is_forgotten_and_no_history_keeps_nothing() {
        let mut memory = Memory::new(Limits { age: Duration::ZERO, ..LIMITS });
        add(&mut memory, "ann", "c", "1");
        std::thread::sleep(Duration::from_millis(2));
        assert!(asked(&mut memory, "ann", "c").is_empty());
        assert_eq!((memory.contexts, memory.bytes, memory.shelves.len()), (0, 0, 0));
        let mut memory = Memory::new(Limits { exchanges: 0, ..LIMITS });
        add(&mut memory, "ann", "c", "1");
        assert!(asked(&mut memory, "ann", "c").is_empty());
    }
}
