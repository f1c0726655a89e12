//! ListTasks, spec §3.1.4: one caller's Tasks, newest status first, page by page.
//!
//! Promises: a page goes on where the last one ended, also when Tasks change in between; one whose status changes comes
//! to the front and may be seen again. A token is only a place in the caller's own order, so a made-up one shows nothing
//! else.

use super::Tasks;
use super::store::Place;
use crate::a2a::Task;
use crate::dialect::ListTasks;
use crate::refusal::Refusal;
use musegate_protocol::bounded::Label;

/// Tasks of a page when the client does not say.
const PAGE: u32 = 50;
/// Most Tasks of a page, spec §3.1.4.
const MAX_PAGE: u32 = 100;

/// One page.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// Newest status first.
    pub tasks: Vec<Task>,
    /// For the next page; empty on the last.
    pub next: String,
    /// As asked for, or the default.
    pub page_size: u32,
    /// All that match.
    pub total: usize,
}

impl Tasks {
    /// One page of a caller's Tasks.
    ///
    /// # Errors
    /// [`Refusal::InvalidParams`] for a page size out of 1 to 100, or a token that is none of ours.
    pub fn list(&self, caller: &Label, asked: &ListTasks) -> Result<Listed, Refusal> {
        let page_size = asked.page_size.unwrap_or(PAGE);
        if !(1..=MAX_PAGE).contains(&page_size) {
            return Err(invalid("pageSize", "must be 1 to 100"));
        }
        let below = match asked.page_token.as_deref().filter(|token| !token.is_empty()) {
            None => u64::MAX,
            Some(token) => read_token(token).ok_or_else(|| invalid("pageToken", "is none of this agent"))?,
        };
        let store = self.0.store();
        let matches = |place: &&Place| {
            asked.context_id.as_ref().is_none_or(|context| place.entry.context == *context)
                && asked.state.is_none_or(|state| place.state == state)
                && asked.status_after.is_none_or(|after| place.at >= after)
        };
        let total = store.of(caller, u64::MAX).filter(matches).count();
        let size = usize::try_from(page_size).unwrap_or_default();
        let found: Vec<_> = store.of(caller, below).filter(matches).take(size.saturating_add(1)).collect();
        let page = found.get(..size).unwrap_or(&found);
        let more = found.len() > page.len();
        let next = page.last().filter(|_| more).map(|place| format!("{:x}", place.rank)).unwrap_or_default();
        let task = |place: &&Place| place.entry.lock().task(asked.history_length, asked.include_artifacts);
        Ok(Listed { tasks: page.iter().map(task).collect(), next, page_size, total })
    }
}

fn read_token(token: &str) -> Option<u64> {
    let legal = token.len() <= 16 && token.bytes().all(|b| b.is_ascii_hexdigit());
    legal.then(|| u64::from_str_radix(token, 16).ok()).flatten()
}

fn invalid(field: &str, what: &str) -> Refusal {
    Refusal::InvalidParams { field: field.to_owned(), what: what.to_owned() }
}
