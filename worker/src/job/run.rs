//! The life of one job, from an admitted `StartJob` to its `Finished`.
//!
//! Promises: exactly one outcome, sent when the processes are gone, and its folder removed right after; the slot is free
//! before the outcome is sent; a job ends by its own end, by a cancel or by a broken bound, whichever comes first, and then
//! by the ladder SIGTERM, grace, SIGKILL; its end is the end of its tree, never the end of a pipe.

use super::ears::Ears;
use super::limits::Stamp;
use super::outcome;
use super::prompt::{self, Offers};
use super::running::Running;
use crate::backend::muse::Material;
use crate::config::Limits;
use crate::link::JobLine;
use crate::process::Group;
use crate::scratch::{Folder, OutLimits, Scratch, ScratchError};
use crate::worker::{Slot, Worker};
use musegate_protocol::bounded::List;
use musegate_protocol::message::{CancelReason, End, EndedBy, FromWorker, Outcome, PromptPart, StartJob, Timing};
use musegate_sandbox_profiles::trim_heap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// After an answer of so many bytes, memory that is free again goes back to the system.
const BURST: u64 = 1 << 20;

/// Hears the reason when somebody wants the job to end.
pub(crate) type Cancel = watch::Receiver<Option<CancelReason>>;

/// One admitted job.
pub(crate) struct Run {
    pub(crate) worker: Arc<Worker>,
    pub(crate) line: JobLine,
    pub(crate) start: Box<StartJob>,
    pub(crate) cancel: Cancel,
    pub(crate) slot: Slot,
}

impl Run {
    /// What its lines of log are told with: the trace is the supervisor's.
    pub(crate) fn span(&self) -> tracing::Span {
        let start = &self.start;
        let trace = start.trace.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
        // Its lowest level, so that whatever is logged within it is logged with it.
        tracing::error_span!("job", %trace, caller = %start.caller, task = %start.task, job = start.job.0)
    }

    /// Runs it to its end.
    pub(crate) async fn run(self) {
        let Self { worker, line, start, cancel, slot } = self;
        let job = line.job();
        let began = Stamp::now();
        let limits = worker.config.limits.narrowed(&start.limits);
        let (outcome, scratch) = match launch(&worker, &start, &limits).await {
            Ok(launched) => {
                let ears = Ears::new(Arc::clone(&worker.rules), limits, start.output_schema.is_some(), began);
                Running::new(&worker, &line, cancel, launched, ears).finish().await
            }
            Err(why) => (not_started(&why, began), None),
        };
        log(&outcome);
        drop(slot);
        let burst = outcome.output_bytes > BURST;
        // Where the connection is gone nobody waits for it.
        let _ = line.send(&FromWorker::Finished { job, outcome: Box::new(outcome) });
        tokio::task::yield_now().await; // it is written first: the caller need not wait for the house-keeping
        if let Some(Err(error)) = scratch.map(Scratch::remove) {
            tracing::warn!(%error, "a scratch folder stays behind");
        }
        if burst {
            trim_heap();
        }
    }
}

/// A job's folder and its processes.
pub(super) struct Launched {
    pub(super) scratch: Scratch,
    pub(super) out: OutLimits,
    pub(super) group: Group,
}

/// The text of the error is for the log; callers hear less.
async fn launch(worker: &Worker, start: &StartJob, limits: &Limits) -> Result<Launched, String> {
    let agent = worker.agent().await.map_err(|error| error.to_string())?;
    let tools = worker.config.muse.tools;
    let offers = Offers { files: limits.files > 0 && (tools.write || tools.shell) };
    let out = OutLimits { files: if offers.files { limits.files.into() } else { 0 }, bytes: limits.file_bytes.into() };
    let prompt = prompt::write(start, offers).map_err(|error| error.to_string())?;
    let scratch = worker.base.create();
    let mut scratch = scratch.map_err(|error| error.to_string())?;
    let material = Material { prompt: &prompt, schema: start.output_schema.as_deref(), wall: limits.wall };
    let launch = agent.muse.prepare(&mut scratch, &material).map_err(|error| error.to_string())?;
    lay_out(&mut scratch, start, offers).map_err(|error| error.to_string())?;
    let group = agent.jail.launch(launch).await.map_err(|error| error.to_string())?;
    Ok(Launched { scratch, out, group })
}

fn lay_out(scratch: &mut Scratch, start: &StartJob, offers: Offers) -> Result<(), ScratchError> {
    for part in start.parts.iter() {
        if let PromptPart::File { name, bytes, .. } = part {
            scratch.write_input(name, bytes)?;
        }
    }
    if offers.files {
        scratch.folder(Folder::Out)?;
    }
    Ok(())
}

fn not_started(why: &str, began: Stamp) -> Outcome {
    tracing::warn!(why, "a job could not be started");
    let now = Stamp::now();
    let ms = |span: Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
    Outcome {
        end: outcome::not_started(),
        usage: None,
        redactions: List::default(),
        output_bytes: 0,
        timing: Timing {
            first_line_ms: 0,
            wall_ms: ms(now.wall.saturating_sub(began.wall)),
            awake_ms: ms(now.awake.saturating_sub(began.awake)),
        },
        ended_by: EndedBy::NotStarted,
    }
}

fn log(outcome: &Outcome) {
    let end = match &outcome.end {
        End::Completed => "completed".to_owned(),
        End::Failed { kind, .. } => format!("{kind:?}"),
        End::Cancelled { reason } => format!("cancelled by {reason:?}"),
    };
    tracing::info!(end, by = ?outcome.ended_by, wall_ms = outcome.timing.wall_ms, bytes = outcome.output_bytes, "job over");
}
