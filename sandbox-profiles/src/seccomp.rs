//! Filters of system calls, made from lists of rules.
//!
//! Promises: a list compiles to the same programs every time; arguments are compared as the kernel reads them, 32 bits;
//! the x32 numbers of x86-64, which would slip past any list, are answered ENOSYS. Refuses to know which calls.

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    apply_filter, apply_filter_all_threads, sock_filter,
};
use std::collections::BTreeMap;
use std::io;

/// A system call by name and number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// As in syscalls(2).
    pub name: &'static str,
    /// Of this architecture.
    pub number: libc::c_long,
}

/// Something about one argument, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum If {
    /// It is this.
    Is(u8, u32),
    /// It is not this.
    Not(u8, u32),
    /// These bits of it (first number) are these (second).
    Bits(u8, u32, u32),
}

/// What is answered to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    /// It happens.
    Allow,
    /// EPERM: known, and refused.
    Refuse,
    /// ENOSYS: as on an older kernel, so that programs fall back to something else.
    Unknown,
}

/// A line of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallRule {
    /// Which call.
    pub call: Call,
    /// When: any of these lines, each of which wants all of its conditions. Empty: always.
    pub when: &'static [&'static [If]],
    /// Then what.
    pub answer: Answer,
    /// Why.
    pub why: &'static str,
}

/// What happens with a call that no rule names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Otherwise {
    /// It happens: the list says what is refused.
    Allow,
    /// The process dies: the list says what is allowed.
    Kill,
    /// EPERM, for tests of such a list.
    Refuse,
}

/// Compiled filters, to be applied as often as wanted.
#[derive(Clone, Debug)]
pub struct Filters(Vec<BpfProgram>);

impl Filters {
    /// Compiles a list. Each answer needs a filter of its own; the strictest answer of all filters counts.
    ///
    /// # Errors
    /// On an architecture that the compiler does not know.
    pub fn compile(rules: &[CallRule], otherwise: Otherwise) -> io::Result<Self> {
        let mut programs: Vec<BpfProgram> = x32_guard().into_iter().collect();
        programs.extend(Self::compile_inside(rules, otherwise)?.0);
        Ok(Self(programs))
    }

    /// The same for a process that is behind another filter of ours already, with its guard against x32.
    ///
    /// # Errors
    /// As [`Filters::compile`].
    pub fn compile_inside(rules: &[CallRule], otherwise: Otherwise) -> io::Result<Self> {
        let mut programs: Vec<BpfProgram> = Vec::new();
        // Once the list that may kill is applied, no further filter can be: it comes last.
        for answer in [Answer::Unknown, Answer::Refuse, Answer::Allow] {
            let lists = by_number(rules, answer)?;
            let unmatched = match (answer, otherwise) {
                (Answer::Allow, Otherwise::Kill) => SeccompAction::KillProcess,
                (Answer::Allow, Otherwise::Refuse) => SeccompAction::Errno(errno(libc::EPERM)),
                _ if lists.is_empty() || answer == Answer::Allow => continue,
                _ => SeccompAction::Allow,
            };
            let matched = match answer {
                Answer::Allow => SeccompAction::Allow,
                Answer::Refuse => SeccompAction::Errno(errno(libc::EPERM)),
                Answer::Unknown => SeccompAction::Errno(errno(libc::ENOSYS)),
            };
            let target = std::env::consts::ARCH.try_into().map_err(io::Error::other)?;
            let filter = SeccompFilter::new(lists, unmatched, matched, target).map_err(io::Error::other)?;
            programs.push(filter.try_into().map_err(io::Error::other)?);
        }
        Ok(Self(programs))
    }

    /// Applies them to this thread and to what it starts from now on.
    ///
    /// # Errors
    /// As seccomp(2).
    pub fn apply(&self) -> io::Result<()> {
        self.0.iter().try_for_each(|program| apply_filter(program).map_err(fault))
    }

    /// Applies them to all threads of this process.
    ///
    /// # Errors
    /// As seccomp(2).
    pub fn apply_to_all_threads(&self) -> io::Result<()> {
        self.0.iter().try_for_each(|program| apply_filter_all_threads(program).map_err(fault))
    }
}

fn errno(errno: libc::c_int) -> u32 {
    errno.unsigned_abs()
}

fn fault(error: seccompiler::Error) -> io::Error {
    match error {
        seccompiler::Error::Prctl(error) | seccompiler::Error::Seccomp(error) => error,
        other => io::Error::other(other),
    }
}

fn by_number(rules: &[CallRule], answer: Answer) -> io::Result<BTreeMap<i64, Vec<SeccompRule>>> {
    let mut lists: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    let mut always = Vec::new();
    for rule in rules.iter().filter(|rule| rule.answer == answer) {
        let list = lists.entry(rule.call.number).or_default();
        if rule.when.is_empty() {
            always.push(rule.call.number);
        }
        for all_of in rule.when {
            let conditions = all_of.iter().map(|condition| condition.compile()).collect::<Result<_, _>>();
            let compiled =
                conditions.and_then(SeccompRule::new).map_err(|error| io::Error::other(error.to_string()))?;
            list.push(compiled);
        }
    }
    // A call without conditions matches always, whatever other rules say about it.
    for number in always {
        lists.insert(number, Vec::new());
    }
    Ok(lists)
}

impl If {
    fn compile(self) -> Result<SeccompCondition, seccompiler::BackendError> {
        let (argument, operator, value) = match self {
            Self::Is(argument, value) => (argument, SeccompCmpOp::Eq, value),
            Self::Not(argument, value) => (argument, SeccompCmpOp::Ne, value),
            Self::Bits(argument, mask, value) => (argument, SeccompCmpOp::MaskedEq(mask.into()), value),
        };
        SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value.into())
    }
}

/// Numbers from 0x4000_0000 on are a second table of the same calls on x86-64.
fn x32_guard() -> Option<BpfProgram> {
    const LOAD: u16 = 0x20; // BPF_LD | BPF_W | BPF_ABS
    const AT_LEAST: u16 = 0x35; // BPF_JMP | BPF_JGE | BPF_K
    const RETURN: u16 = 0x06; // BPF_RET | BPF_K
    const X32: u32 = 0x4000_0000;
    let step = |code, jt, k| sock_filter { code, jt, jf: 0, k };
    cfg!(target_arch = "x86_64").then(|| {
        vec![
            step(LOAD, 0, 0), // the number
            step(AT_LEAST, 1, X32),
            step(RETURN, 0, libc::SECCOMP_RET_ALLOW),
            step(RETURN, 0, libc::SECCOMP_RET_ERRNO | errno(libc::ENOSYS)),
        ]
    })
}

/// A rule that asks no argument.
pub(crate) const fn always(name: &'static str, number: libc::c_long, answer: Answer, why: &'static str) -> CallRule {
    CallRule { call: Call { name, number }, when: &[], answer, why }
}

/// A rule that does.
pub(crate) const fn when(
    name: &'static str,
    number: libc::c_long,
    when: &'static [&'static [If]],
    answer: Answer,
    why: &'static str,
) -> CallRule {
    CallRule { call: Call { name, number }, when, answer, why }
}
