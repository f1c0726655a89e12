//! The pass over a stream: finds places worth a look, in order, has them judged, and lets through what is decided.
//!
//! Promises: the sequence of places and verdicts is the same for every cutting, hence the output too. Every secret is
//! covered whole: where two overlap, one marker stands for both. Each byte is searched once; a place that waits is asked
//! again, without reading again what it has read. Refuses to know what a secret looks like.

use super::Rules;
use super::block::Block;
use super::named::{LOOK_BACK, SIGNS, judge_sign};
use super::needle::{HEAD, Literals, SHORT, WINDOW_MAX};
use super::shape::{Runs, Verdict, View, judge_family};
use memchr::memchr3_iter;

/// A long piece is taken in parts of this size, bytes: bounds memory, and stays in the processor's cache.
const PART: usize = 16 * 1024;
/// Kept of what was let through, bytes: names and the beginnings of literals are looked back for.
const HISTORY: usize = LOOK_BACK + 64;
/// Old text is thrown away in portions of this size, bytes.
const TRIM: usize = 4096;

/// What is searched for, in the order in which places at one position are judged.
#[derive(Clone, Copy, Debug)]
enum Search {
    Forms,
    Marked,
    Plain,
    Short,
    Signs,
}

const SEARCHES: [Search; 5] = [Search::Forms, Search::Marked, Search::Plain, Search::Short, Search::Signs];

/// How far a search is.
#[derive(Clone, Copy, Debug, Default)]
struct Scan {
    /// Nothing before is of interest.
    from: usize,
    /// From there to here nothing was found.
    to: usize,
    /// The next place, and which of the things searched for is there.
    hit: Option<(usize, usize)>,
    /// How many families were judged there.
    part: usize,
}

/// The state of one stream. Positions are offsets into `buf`.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// Some history, then what is held back.
    buf: String,
    /// Everything before was let through or covered.
    done: usize,
    /// Everything from the last marker's start to here is covered.
    covered: usize,
    /// Alphabets as long as whose characters follow, the cover goes on.
    open: u32,
    /// A key block that has not ended, and how far it was followed.
    block: Option<(Block, usize)>,
    scans: [Scan; SEARCHES.len()],
    runs: Runs,
    counts: Vec<(usize, u32)>,
}

impl State {
    pub(crate) fn push(&mut self, rules: &Rules, chunk: &str, out: &mut String) {
        let mut rest = chunk;
        while !rest.is_empty() {
            let (part, after) = rest.split_at_checked(floor(rest, PART)).unwrap_or((rest, ""));
            rest = after;
            self.buf.push_str(part);
            self.pass(rules, false, out);
            self.trim();
        }
    }

    pub(crate) fn finish(&mut self, rules: &Rules, out: &mut String) {
        self.pass(rules, true, out);
        self.forget();
    }

    pub(crate) fn forget(&mut self) {
        self.buf.clear();
        (self.done, self.covered, self.open, self.block) = (0, 0, 0, None);
        self.scans = Default::default();
        self.runs.forget();
    }

    pub(crate) fn counts(&self) -> &[(usize, u32)] {
        &self.counts
    }

    pub(crate) fn held(&self) -> usize {
        self.buf.len() - self.done
    }

    /// Judges all places that are known, then lets through what is decided.
    fn pass(&mut self, rules: &Rules, end: bool, out: &mut String) {
        self.continue_cover(rules, end);
        let mut limit = self.buf.len();
        while self.block.is_none() || self.leave_block() {
            let Some((search, place, which)) = self.next_place(rules) else { break };
            let (verdict, more) = self.judge(rules, end, (search, place, which));
            if let Verdict::Wait { hold } = verdict {
                limit = hold.min(place + 1);
                break;
            }
            if let Some(scan) = self.scans.get_mut(search as usize) {
                *scan = if more {
                    Scan { part: scan.part + 1, ..*scan }
                } else {
                    Scan { from: place + 1, ..Scan::default() }
                };
            }
            match verdict {
                Verdict::Hit { kind, start, end, open } => self.cover(rules, kind, (start, end), open, out),
                Verdict::Block { kind, start, end } => {
                    self.cover(rules, kind, (start, end), 0, out);
                    self.block = Some((Block::default(), end));
                }
                Verdict::No | Verdict::Wait { .. } => {}
            }
        }
        if !end {
            let text = self.buf.as_bytes();
            limit = limit.min(rules.literals.unfinished(text));
            limit = limit.min(rules.forms.as_ref().map_or(limit, |forms| forms.unfinished(text)));
            limit = if self.open == 0 { limit } else { self.done };
        }
        self.let_through(limit, out);
    }

    /// The verdict on a place, and whether there is more to judge there.
    fn judge(&mut self, rules: &Rules, end: bool, (search, place, which): (Search, usize, usize)) -> (Verdict, bool) {
        let part = self.scans.get(search as usize).map_or(0, |scan| scan.part);
        let runs = &mut self.runs;
        let mut view = View { text: self.buf.as_bytes(), end, classes: &rules.classes, runs };
        let verdict = match search {
            Search::Forms => judge_form(&mut view, rules, place, which),
            Search::Marked | Search::Plain => {
                let Literals { marked, plain, .. } = &rules.literals;
                let families = if matches!(search, Search::Marked) { marked } else { plain }.families(which);
                let verdict = families.get(part).map_or(Verdict::No, |family| judge_family(&mut view, family, place));
                return (verdict, part + 1 < families.len());
            }
            Search::Short => judge_family(&mut view, &rules.literals.short, place),
            Search::Signs => judge_sign(&mut view, &rules.kinds, place),
        };
        (verdict, false)
    }

    /// The next place of all searches.
    fn next_place(&mut self, rules: &Rules) -> Option<(Search, usize, usize)> {
        let text = self.buf.as_bytes();
        let mut best: Option<(Search, usize, usize)> = None;
        for (search, scan) in SEARCHES.into_iter().zip(&mut self.scans) {
            if scan.hit.is_none() && scan.to < text.len() {
                let (hit, width) = find(rules, search, text, scan.from);
                scan.hit = hit;
                if hit.is_none() {
                    scan.from = scan.from.max((text.len() + 1).saturating_sub(width));
                    scan.to = text.len();
                }
            }
            if let Some((place, which)) = scan.hit
                && best.is_none_or(|(_, known, _)| place < known)
            {
                best = Some((search, place, which));
            }
        }
        best
    }

    /// Follows what was open at the end of the last piece.
    fn continue_cover(&mut self, rules: &Rules, end: bool) {
        let runs = &mut self.runs;
        let view = View { text: self.buf.as_bytes(), end, classes: &rules.classes, runs };
        while self.open != 0 {
            match view.take(self.done, self.open) {
                None => return,
                Some(open) => {
                    self.open = open;
                    self.done += usize::from(open != 0);
                }
            }
            self.covered = self.done;
        }
    }

    /// Covers a secret, with a marker unless it overlaps the one before.
    fn cover(&mut self, rules: &Rules, kind: usize, (start, end): (usize, usize), open: u32, out: &mut String) {
        let fresh = self.covered < self.done;
        if fresh && end <= self.done {
            return;
        }
        if start >= self.done || fresh {
            self.let_through(start, out);
            let name = rules.names.get(kind).map_or("secret", |name| name);
            ["[redacted:", name, "]"].into_iter().for_each(|part| out.push_str(part));
            match self.counts.iter_mut().find(|(known, _)| *known == kind) {
                Some((_, count)) => *count = count.saturating_add(1),
                None => self.counts.push((kind, 1)),
            }
        }
        self.done = self.done.max(end);
        self.covered = self.done;
        self.open |= open;
    }

    /// Follows a key block; whether it has ended.
    fn leave_block(&mut self) -> bool {
        let Some((block, at)) = &mut self.block else { return true };
        let (len, ended) = block.follow(self.buf.as_bytes().get(*at..).unwrap_or_default());
        *at += len;
        let at = *at;
        self.done = self.done.max(at);
        self.covered = self.done;
        for scan in &mut self.scans {
            let ahead = scan.hit.filter(|(place, _)| *place >= at);
            let part = if ahead.is_some() { scan.part } else { 0 };
            *scan = Scan { from: scan.from.max(at), to: scan.to, hit: ahead, part };
        }
        if ended {
            self.block = None;
        }
        ended
    }

    fn let_through(&mut self, to: usize, out: &mut String) {
        if let Some(text) = self.buf.get(self.done..to) {
            out.push_str(text);
            self.done = to;
        }
    }

    /// Throws old text away.
    fn trim(&mut self) {
        let place = |scan: &Scan| scan.hit.map_or(scan.from, |(place, _)| place);
        let first = self.scans.iter().map(place).min().unwrap_or(0).min(self.done); // a block is behind neither
        if first < HISTORY + TRIM {
            return;
        }
        let by = floor(&self.buf, first - HISTORY);
        self.buf.drain(..by);
        self.done -= by;
        self.covered = self.covered.saturating_sub(by);
        self.runs.shift(by);
        if let Some((_, at)) = &mut self.block {
            *at -= by;
        }
        for scan in &mut self.scans {
            (scan.from, scan.to) = (scan.from.saturating_sub(by), scan.to.saturating_sub(by));
            scan.hit = scan.hit.map(|(place, which)| (place.saturating_sub(by), which));
        }
    }
}

/// The next place of one search, and how many bytes such a thing has.
fn find(rules: &Rules, search: Search, text: &[u8], from: usize) -> (Option<(usize, usize)>, usize) {
    let rest = text.get(from..).unwrap_or_default();
    let behind = |at: usize| (from + at, 0);
    match search {
        Search::Forms => (rules.forms.as_ref().and_then(|forms| forms.find(text, from)), HEAD),
        Search::Marked => (rules.literals.marked.find(text, from), WINDOW_MAX),
        Search::Plain => (rules.literals.plain.find(text, from), WINDOW_MAX),
        Search::Short => (rules.short.find(rest).map(behind), SHORT.len()),
        Search::Signs => {
            let [a, b, c] = SIGNS;
            let mut signs = memchr3_iter(a, b, c, rest);
            (signs.find(|at| rules.last_letters.tell(text, from + at)).map(behind), 1)
        }
    }
}

/// The longest form of a known value at a place.
fn judge_form(view: &mut View<'_>, rules: &Rules, place: usize, head: usize) -> Verdict {
    let forms = rules.forms.as_ref().map_or(&[][..], |forms| forms.of(head));
    for form in forms {
        match view.stands(place, form.as_bytes()) {
            None => return Verdict::Wait { hold: place },
            Some(true) => {
                return Verdict::Hit { kind: rules.kinds.own, start: place, end: place + form.len(), open: 0 };
            }
            Some(false) => {}
        }
    }
    Verdict::No
}

/// The last boundary between characters at or before a position.
fn floor(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at).rev().take(4).find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

#[cfg(test)]
impl State {
    pub(crate) fn steps(&self) -> u64 {
        self.runs.steps
    }

    pub(crate) fn capacity(&self) -> usize {
        self.buf.capacity()
    }
}
