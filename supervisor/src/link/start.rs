//! Room 10, outwards: a job can be handed over only with the right to run one now, a cleaned message, and turns whose
//! roles we set.

use crate::admission::Slot;
use crate::sanitize::Clean;
use musegate_protocol::bounded::{Label, List, Text};
use musegate_protocol::message::{JobId, JobLimits, MAX_TEXT, MAX_TURNS, StartJob, Turn};

/// What surrounds a message on its way to the worker.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Name of the authenticated caller.
    pub caller: Label,
    /// The Task, as the caller sees it.
    pub task: Label,
    /// Its conversation.
    pub context: Label,
    /// Ties logs together.
    pub trace: [u8; 16],
    /// JSON Schema of the answer.
    pub output_schema: Option<Text<32768>>,
    /// Whether the prompt offers the structured answer.
    pub structured: bool,
    /// Bounds of the caller's grant.
    pub limits: JobLimits,
}

/// A job that may be handed over.
#[derive(Debug)]
pub struct Start(pub(super) Box<StartJob>);

impl Start {
    /// `turns`, oldest first: as many of the newest whole exchanges go with the message as fit.
    #[must_use]
    pub fn new(_slot: &Slot, message: &Clean, turns: Vec<Turn>, frame: Frame) -> Self {
        let room = MAX_TEXT.saturating_sub(message.text_bytes());
        Self(Box::new(StartJob {
            job: JobId(0),
            caller: frame.caller,
            task: frame.task,
            context: frame.context,
            message: Text::cut(&message.get().message_id.0),
            trace: frame.trace,
            turns: newest(turns, room),
            parts: message.parts().clone(),
            output_schema: frame.output_schema,
            structured: frame.structured,
            limits: frame.limits,
        }))
    }
}

/// The newest pairs of turns that fit into so many bytes.
fn newest(mut turns: Vec<Turn>, room: usize) -> List<Turn, MAX_TURNS> {
    let mut bytes = 0usize;
    let mut kept = 0usize;
    for pair in turns.rchunks(2) {
        bytes = bytes.saturating_add(pair.iter().map(|turn| turn.text.len()).sum());
        if bytes > room || kept.saturating_add(pair.len()) > MAX_TURNS {
            break;
        }
        kept = kept.saturating_add(pair.len());
    }
    let turns = turns.split_off(turns.len().saturating_sub(kept));
    List::new(turns).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use musegate_protocol::message::Role;

    fn turns(sizes: &[usize]) -> Vec<Turn> {
        let text = |n: &usize| Text::new("x".repeat(*n)).unwrap();
        let pair =
            |n: &usize| [(Role::Caller, text(n)), (Role::Agent, text(n))].map(|(role, text)| Turn { role, text });
        sizes.iter().flat_map(pair).collect()
    }

    fn sizes(turns: &[Turn]) -> Vec<usize> {
        turns.iter().map(|turn| turn.text.len()).collect()
    }

    #[test]
    fn as_many_of_the_newest_whole_exchanges_go_along_as_fit() {
        assert_eq!(sizes(&newest(turns(&[5, 10, 20]), 60)), [10, 10, 20, 20]);
        assert_eq!(sizes(&newest(turns(&[5, 10, 20]), 69)), [10, 10, 20, 20]);
        assert_eq!(sizes(&newest(turns(&[5, 10, 20]), 70)), [5, 5, 10, 10, 20, 20]);
        assert_eq!(sizes(&newest(turns(&[5, 10, 20]), 39)), [0usize; 0]);
        assert_eq!(newest(turns(&[1; 9]), 1 << 20).len(), MAX_TURNS);
    }
}
