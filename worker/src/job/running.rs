//! A job while its processes run: four things that can happen, and what is done about each.
//!
//! Promises: a job without credit stops reading its stdout and nothing else stops; what is sent is redacted; after a
//! cancel or a broken bound nothing more is waited for but the end of the processes.

use super::ears::Ears;
use super::limits::{Breach, Stamp};
use super::outcome::{self, Facts, Stopped};
use super::run::{Cancel, Launched};
use crate::backend::records::Verdict;
use crate::link::{Gone, JobLine};
use crate::pipe::{read_now, read_rest};
use crate::process::{Exit, Group, Reaped};
use crate::scratch::{OutLimits, Scratch};
use crate::worker::Worker;
use musegate_protocol::message::{CancelReason, End, EndedBy, FromWorker, Outcome, Progress};
use std::pin::{Pin, pin};
use tokio::time::{Instant, Sleep, sleep, sleep_until, timeout};

/// A job whose processes run.
pub(super) struct Running<'a> {
    pub(super) worker: &'a Worker,
    pub(super) line: &'a JobLine,
    cancel: Cancel,
    pub(super) scratch: Scratch,
    out: OutLimits,
    group: Group,
    stdout_open: bool,
    stderr_open: bool,
    pub(super) ears: Ears,
    stopped: Option<Stopped>,
}

/// What a turn of the loop found.
enum Turn {
    Exited(Exit),
    Stop(Stopped),
    Stdout,
    Stderr,
    Room,
    Time,
}

impl<'a> Running<'a> {
    pub(super) fn new(
        worker: &'a Worker,
        line: &'a JobLine,
        cancel: Cancel,
        launched: Launched,
        mut ears: Ears,
    ) -> Self {
        ears.progress.push_back(Progress::Started);
        Self {
            worker,
            line,
            cancel,
            scratch: launched.scratch,
            out: launched.out,
            group: launched.group,
            stdout_open: true,
            stderr_open: true,
            ears,
            stopped: None,
        }
    }

    /// Runs it to its end. With the outcome comes its folder, to be removed; none where processes may still use it.
    pub(super) async fn finish(mut self) -> (Outcome, Option<Scratch>) {
        let exit = self.watch().await;
        let (exit, ended_by) = match exit {
            Some(exit) => (exit, self.bury().await),
            None => self.end().await,
        };
        if self.stopped.is_none() {
            self.stopped = self.hand_over(exit).await.err();
        }
        // Of a job that was stopped, what is sent by now is all that there will be.
        self.ears.end();
        let _ = self.deliver();
        let end = self.verdict(exit);
        let outcome = Outcome {
            end,
            usage: self.ears.usage,
            redactions: self.ears.redactions(),
            output_bytes: self.ears.answer.sent(),
            timing: self.ears.watch.timing(Stamp::now()),
            ended_by,
        };
        if ended_by == EndedBy::Doubt {
            self.worker.doubt();
            return (outcome, None);
        }
        (outcome, Some(self.scratch))
    }

    /// Until the program ends, or must end: then `None`.
    async fn watch(&mut self) -> Option<Exit> {
        let mut timer = pin!(sleep(self.ears.watch.pause(Stamp::now())));
        loop {
            let waits = match self.deliver() {
                Ok(waits) => waits,
                Err(stopped) => return self.stop(stopped),
            };
            self.ears.watch.held(waits, Stamp::now());
            let broken = match self.turn(waits, timer.as_mut()).await {
                Turn::Exited(exit) => return Some(exit),
                Turn::Stop(stopped) => return self.stop(stopped),
                Turn::Room => Ok(()),
                Turn::Stdout => self.read_stdout(),
                Turn::Stderr => self.read_stderr(),
                Turn::Time => self.ears.time(Stamp::now()),
            };
            if let Err(breach) = broken {
                return self.stop(Stopped::Breach(breach));
            }
            // A pause that was right before may be too long now, never too short.
            let due = Instant::now() + self.ears.watch.pause(Stamp::now());
            if due < timer.deadline() || timer.is_elapsed() {
                timer.as_mut().reset(due);
            }
        }
    }

    fn stop(&mut self, stopped: Stopped) -> Option<Exit> {
        self.stopped.get_or_insert(stopped);
        None
    }

    /// Whatever comes first.
    async fn turn(&mut self, waits: bool, timer: Pin<&mut Sleep>) -> Turn {
        tokio::select! {
            biased;
            reason = cancelled(&mut self.cancel) => Turn::Stop(Stopped::Cancelled(reason)),
            exit = self.group.tree.exited() => Turn::Exited(exit),
            () = timer => Turn::Time,
            _ = self.group.stderr.readable(), if self.stderr_open => Turn::Stderr,
            () = self.line.room(), if waits => Turn::Room,
            _ = self.group.stdout.readable(), if self.stdout_open && !waits => Turn::Stdout,
        }
    }

    fn read_stdout(&mut self) -> Result<(), Breach> {
        let count = read_now(&self.group.stdout, self.ears.room(), &mut self.stdout_open);
        self.ears.hear(count, Stamp::now())
    }

    fn read_stderr(&mut self) -> Result<(), Breach> {
        let mut buffer = [0; 4096];
        let count = read_now(&self.group.stderr, &mut buffer, &mut self.stderr_open);
        self.ears.complain(buffer.get(..count).unwrap_or_default())
    }

    /// Sends what may be sent now. `true`: more waits for room.
    fn deliver(&mut self) -> Result<bool, Stopped> {
        while let Some(event) = self.ears.progress.front() {
            let message = FromWorker::Progress { job: self.line.job(), event: event.clone() };
            if !self.line.try_send(&message).map_err(gone)? {
                return Ok(true);
            }
            self.ears.progress.pop_front();
        }
        while let Some(piece) = self.ears.answer.piece(usize::MAX) {
            match self.line.output(piece.offset, piece.fresh, piece.text).map_err(gone)? {
                Some(sent) => self.ears.answer.took(sent),
                None => return Ok(true),
            }
        }
        Ok(false)
    }

    /// The program has ended by itself: what it left behind is ended too.
    async fn bury(&mut self) -> EndedBy {
        self.group.tree.kill();
        match self.group.tree.reaped().await {
            Reaped::Itself => EndedBy::Itself,
            Reaped::Leftovers | Reaped::Killed => EndedBy::Leftovers,
            Reaped::Doubt => EndedBy::Doubt,
        }
    }

    /// The ladder. What the program still says is read, so that it can end, and forgotten.
    async fn end(&mut self) -> (Exit, EndedBy) {
        self.group.tree.term();
        let grace = self.worker.config.jobs.grace;
        let polite = timeout(grace, ended(&mut self.group)).await;
        self.group.tree.kill();
        let reaped = self.group.tree.reaped().await;
        let ended_by = match (polite, reaped) {
            (_, Reaped::Doubt) => EndedBy::Doubt,
            (Ok(_), Reaped::Itself) => EndedBy::Term,
            _ => EndedBy::Kill,
        };
        (self.group.tree.exited().await, ended_by)
    }

    /// After the end of all processes: the rest of the streams, then the files.
    async fn hand_over(&mut self, exit: Exit) -> Result<(), Stopped> {
        let mut buffer = [0; 4096];
        loop {
            let count = read_rest(&self.group.stderr, &mut buffer);
            if count == 0 {
                break;
            }
            self.ears.complain(buffer.get(..count).unwrap_or_default()).map_err(Stopped::Breach)?;
        }
        let due = Instant::now() + self.ears.watch.wall_left(Stamp::now());
        loop {
            self.settle(due).await?;
            let count = read_rest(&self.group.stdout, self.ears.room());
            self.ears.hear(count, Stamp::now()).map_err(Stopped::Breach)?;
            if count == 0 {
                break;
            }
        }
        self.ears.end();
        self.settle(due).await?;
        let completed = exit == Exit::Code(0) && matches!(self.ears.terminal, Some((Verdict::Completed, _)));
        if completed { self.send_files(self.out, due).await } else { Ok(()) }
    }

    /// Until everything that is ready was sent.
    async fn settle(&mut self, due: Instant) -> Result<(), Stopped> {
        while self.deliver()? {
            self.room_in_time(due).await?;
        }
        Ok(())
    }

    /// Sends one message that costs credit, when there is some.
    pub(super) async fn send_in_time(&mut self, message: &FromWorker, due: Instant) -> Result<(), Stopped> {
        while !self.line.try_send(message).map_err(gone)? {
            self.room_in_time(due).await?;
        }
        Ok(())
    }

    async fn room_in_time(&mut self, due: Instant) -> Result<(), Stopped> {
        tokio::select! {
            reason = cancelled(&mut self.cancel) => Err(Stopped::Cancelled(reason)),
            () = sleep_until(due) => Err(Stopped::Breach(Breach::Wall)),
            () = self.line.room() => Ok(()),
        }
    }

    fn verdict(&mut self, exit: Exit) -> End {
        let facts = Facts {
            stopped: self.stopped.take(),
            terminal: self.ears.terminal.take(),
            exit,
            environment: self.ears.environment,
            too_large: self.ears.too_large,
            complaints: &self.ears.complaints,
            max_steps: self.worker.config.muse.max_steps,
        };
        outcome::judge(&facts, &self.worker.rules)
    }
}

/// Without a supervisor there is nobody to run for.
fn gone(_: Gone) -> Stopped {
    Stopped::Cancelled(CancelReason::SupervisorLost)
}

/// Until somebody wants the job to end. Never, if nobody can any more.
async fn cancelled(cancel: &mut Cancel) -> CancelReason {
    match cancel.wait_for(Option::is_some).await.ok().and_then(|reason| *reason) {
        Some(reason) => reason,
        None => std::future::pending().await,
    }
}

/// Until the program has ended. What it says meanwhile is read, so that it can end, and forgotten.
async fn ended(group: &mut Group) {
    let (mut out, mut err) = (true, true);
    let mut buffer = vec![0; 16 << 10];
    loop {
        tokio::select! {
            biased;
            _ = group.tree.exited() => return,
            _ = group.stdout.readable(), if out => drop(read_now(&group.stdout, &mut buffer, &mut out)),
            _ = group.stderr.readable(), if err => drop(read_now(&group.stderr, &mut buffer, &mut err)),
        }
    }
}
