//! What a job has heard of its agent so far, and what of it is still to be told.
//!
//! Promises: names and kinds are redacted and cut before they are told; after the terminal record nothing changes any
//! more. Refuses to know where the bytes come from and where the words go.

use super::answer::{Answer, TooLarge, last_value};
use super::limits::{Breach, Stamp, Watch};
use super::outcome::Complaints;
use super::tools::{Change, Tools};
use crate::backend::records::{Event, Reader, Terminal, Verdict};
use crate::config::Limits;
use crate::redact::{Counts, Rules};
use musegate_protocol::bounded::{Label, List, Text};
use musegate_protocol::message::{Progress, Redaction, Usage};
use musegate_sanitize::stripped;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Everything heard. The reader stands apart because its events borrow from it.
pub(super) struct Ears {
    reader: Reader,
    heard: Heard,
}

/// What was heard.
pub(super) struct Heard {
    /// The answer.
    pub(super) answer: Answer,
    /// The clock.
    pub(super) watch: Watch,
    /// What is still to be told, oldest first.
    pub(super) progress: VecDeque<Progress>,
    /// The end, as the agent itself sees it, and its reason.
    pub(super) terminal: Option<(Verdict, Option<String>)>,
    /// Tokens.
    pub(super) usage: Option<Usage>,
    /// A tool found its surroundings missing, and no tool worked afterwards.
    pub(super) environment: bool,
    /// The answer does not fit.
    pub(super) too_large: bool,
    /// What it said on stderr.
    pub(super) complaints: Complaints,
    /// What was redacted in its files.
    pub(super) files: Counts,
    tools: Tools,
    rules: Arc<Rules>,
    /// The answer is JSON of a declared form.
    schema: bool,
}

impl std::ops::Deref for Ears {
    type Target = Heard;
    fn deref(&self) -> &Heard {
        &self.heard
    }
}

impl std::ops::DerefMut for Ears {
    fn deref_mut(&mut self) -> &mut Heard {
        &mut self.heard
    }
}

impl Ears {
    /// `schema`: the answer is JSON of a declared form. `began`: when the job was admitted.
    pub(super) fn new(rules: Arc<Rules>, limits: Limits, schema: bool, began: Stamp) -> Self {
        let heard = Heard {
            answer: Answer::new(Arc::clone(&rules), limits.output, schema),
            watch: Watch::new(limits, began),
            progress: VecDeque::new(),
            terminal: None,
            usage: None,
            environment: false,
            too_large: false,
            complaints: Complaints::default(),
            files: Counts::default(),
            tools: Tools::default(),
            rules,
            schema,
        };
        Self { reader: Reader::new(usize::try_from(limits.line).unwrap_or(usize::MAX)), heard }
    }

    /// Where the next bytes of stdout go; then [`Ears::hear`].
    pub(super) fn room(&mut self) -> &mut [u8] {
        self.reader.room()
    }

    /// So many bytes of stdout came.
    pub(super) fn hear(&mut self, count: usize, now: Stamp) -> Result<(), Breach> {
        let Self { reader, heard } = self;
        heard.watch.stdout(count)?;
        reader.filled(count);
        let mut any = false;
        while let Some(event) = reader.next_event() {
            any = true;
            heard.take(event, now)?;
        }
        if any {
            heard.watch.line(now);
        }
        Ok(())
    }

    /// There is no more, on either stream.
    pub(super) fn end(&mut self) {
        let Self { reader, heard } = self;
        if let Some(event) = reader.last_event()
            && heard.take(event, Stamp::now()) == Err(Breach::Output)
        {
            heard.too_large = true;
        }
        heard.complaints.end();
        heard.answer.finish();
        if reader.skipped > 0 {
            tracing::debug!(lines = reader.skipped, "lines of the agent were skipped");
            reader.skipped = 0;
        }
    }
}

impl Heard {
    /// Bytes of stderr.
    pub(super) fn complain(&mut self, bytes: &[u8]) -> Result<(), Breach> {
        self.complaints.read(bytes);
        self.watch.stderr(bytes.len())
    }

    /// Time has passed.
    pub(super) fn time(&mut self, now: Stamp) -> Result<(), Breach> {
        if let Some(seconds) = self.watch.slept(now) {
            self.progress.push_back(Progress::Slept { seconds });
        }
        self.watch.check(now)
    }

    fn take(&mut self, event: Event<'_>, now: Stamp) -> Result<(), Breach> {
        if self.terminal.is_some() {
            return Ok(());
        }
        if let Some(change) = self.tools.see(&event) {
            self.change(change, now);
        }
        match event {
            Event::Delta(text) => {
                self.watch.answered();
                self.answer.delta(&text).map_err(|TooLarge| Breach::Output)?;
            }
            Event::DeltaLost => self.answer.lose(),
            Event::Model(id) => {
                let id = self.fit(&id);
                self.progress.push_back(Progress::Model { id });
            }
            Event::Attempt(attempt) => {
                if attempt.kind != "stream_succeeded" {
                    let retry = Progress::Retry {
                        attempt: u16::try_from(attempt.attempt).unwrap_or(u16::MAX),
                        of: u16::try_from(attempt.of).unwrap_or(u16::MAX),
                        http_status: u16::try_from(attempt.http_status).unwrap_or(0),
                        kind: self.fit(&attempt.kind),
                    };
                    self.progress.push_back(retry);
                }
                self.watch.attempt(&attempt, now)?;
            }
            Event::ToolResult { ok, environment, .. } => self.environment = !ok && (environment || self.environment),
            Event::Usage(usage) => self.usage = Some(usage),
            Event::Terminal(terminal) => self.terminate(terminal, now),
            Event::Proposed { .. } | Event::Scheduled { .. } | Event::StepEnded { .. } | Event::Other => {}
        }
        Ok(())
    }

    fn change(&mut self, change: Change, now: Stamp) {
        self.watch.tools(self.tools.running(), now);
        self.watch.answered();
        let progress = match change {
            Change::Started(name) => Progress::ToolStarted { name: self.fit(&name) },
            Change::Ended(name, ok) => Progress::ToolEnded { name: self.fit(&name), ok },
        };
        self.progress.push_back(progress);
    }

    fn terminate(&mut self, terminal: Terminal<'_>, now: Stamp) {
        self.watch.tools(0, now);
        self.watch.terminal(now);
        let text = terminal.text.as_deref();
        let text = if self.schema { text.map(last_value) } else { text };
        self.too_large = self.answer.whole(text).is_err();
        self.terminal = Some((terminal.verdict, terminal.reason.map(|reason| reason.into_owned())));
    }

    /// What was redacted in the answer and in the files, by kind, and what was hidden in the answer, by class.
    pub(super) fn redactions(&self) -> List<Redaction, 64> {
        let mut sums = BTreeMap::<String, u32>::new();
        let redacted = self.answer.counts().chain(self.files.iter()).map(|(kind, count)| (kind.to_owned(), count));
        let hidden = self.answer.hidden();
        for (kind, count) in redacted.chain(hidden.dropped().map(|(class, count)| (format!("hidden-{class}"), count))) {
            let sum = sums.entry(kind).or_default();
            *sum = sum.saturating_add(count);
        }
        let all = sums.into_iter().filter_map(|(kind, count)| Some(Redaction { kind: Label::new(kind).ok()?, count }));
        List::new(all.take(64).collect()).unwrap_or_default()
    }

    /// A word of the agent, as a caller may see it.
    fn fit<const MAX: usize>(&self, word: &str) -> Text<MAX> {
        let plain: String = stripped(word).chars().filter(|c| !c.is_control()).collect();
        Text::cut(&self.rules.redact(&plain).0)
    }
}
