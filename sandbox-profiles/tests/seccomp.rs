//! Every rule about a system call, called once so that it applies and once so that it does not.
#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test ends at what it does not expect, and says what it could not check"
)]

use musegate_sandbox_profiles::seccomp::{Answer, CallRule, Filters, If, Otherwise};
use musegate_sandbox_profiles::{muse, supervisor, worker};
use nix::errno::Errno;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;

/// Numbers that no call takes for a place in memory, a descriptor or a length.
const NONSENSE: [i64; 6] = [-1; 6];

/// What a call came to in a child of its own.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Done,
    Failed(Errno),
    /// The child did not come back from it.
    Ended(WaitStatus),
}

/// Makes one call, behind filters or without.
fn call(filters: Option<&Filters>, number: i64, arguments: [i64; 6]) -> Outcome {
    const FILTER_FAILED: i32 = 254;
    const DONE: i32 = 253;
    let [a, b, c, d, e, f] = arguments;
    // SAFETY: the child makes system calls with numbers and exits; it takes no lock and allocates nothing.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let filtered = filters.is_none_or(|filters| filters.apply().is_ok());
        // SAFETY: no argument is a valid address; whatever the call does, it does to this child.
        let done = if filtered { unsafe { libc::syscall(number, a, b, c, d, e, f) } } else { 0 };
        let status = match (filtered, done) {
            (false, _) => FILTER_FAILED,
            (true, -1) => Errno::last_raw(),
            (true, _) => DONE,
        };
        // SAFETY: takes any status.
        unsafe { libc::_exit(status) };
    }
    let status = waitpid(Pid::from_raw(child), None).unwrap();
    assert!(!matches!(status, WaitStatus::Exited(_, FILTER_FAILED)), "the filter was not applied");
    match status {
        WaitStatus::Exited(_, DONE) => Outcome::Done,
        WaitStatus::Exited(_, errno) => Outcome::Failed(Errno::from_raw(errno)),
        other => Outcome::Ended(other),
    }
}

/// Arguments for which all of these hold.
fn satisfying(all_of: &[If]) -> [i64; 6] {
    let mut arguments = NONSENSE;
    for condition in all_of {
        let (index, value) = match *condition {
            If::Is(index, value) | If::Bits(index, _, value) => (index, value),
            If::Not(index, _) => (index, 0x7fff),
        };
        arguments[usize::from(index)] = value.into();
    }
    arguments
}

/// Arguments for which no conditional rule about this call holds, of those that have any.
fn harmless(name: &str) -> Option<[i64; 6]> {
    let (inet, stream, unix) = (libc::AF_INET.into(), libc::SOCK_STREAM.into(), libc::AF_UNIX.into());
    Some(match name {
        "socket" => [inet, stream, 0, -1, -1, -1],
        "socketpair" => [unix, stream, 0, -1, -1, -1],
        "sendto" | "sendmmsg" => [-1, -1, -1, 0, -1, -1],
        "sendmsg" => [-1, -1, 0, -1, -1, -1],
        "clone" => [libc::CLONE_THREAD.into(), 0, 0, 0, 0, 0],
        "ioctl" => [-1, 0, 0, 0, 0, 0],
        _ => return None,
    })
}

fn errno(answer: Answer) -> Errno {
    if answer == Answer::Unknown { Errno::ENOSYS } else { Errno::EPERM }
}

/// A list that refuses: each rule with and without its filter.
fn check_refusals(rules: &[CallRule]) {
    let filters = Filters::compile(rules, Otherwise::Allow).unwrap();
    let mut without_control = Vec::new();
    for rule in rules {
        let name = rule.call.name;
        let lines: Vec<[i64; 6]> = if rule.when.is_empty() {
            vec![NONSENSE]
        } else {
            rule.when.iter().map(|all_of| satisfying(all_of)).collect()
        };
        for arguments in lines {
            let refused = Outcome::Failed(errno(rule.answer));
            assert_eq!(call(Some(&filters), rule.call.number, arguments), refused, "{name} {arguments:?}");
            if call(None, rule.call.number, arguments) == refused {
                without_control.push(name);
            }
        }
        if !rule.when.is_empty() {
            let arguments = harmless(name).unwrap();
            let through = call(Some(&filters), rule.call.number, arguments);
            assert_eq!(through, call(None, rule.call.number, arguments), "{name} {arguments:?} is let through");
            assert_ne!(through, Outcome::Failed(errno(rule.answer)), "{name} {arguments:?}");
        }
    }
    // What this kernel or this uid refuses anyway proves nothing here; for root that is little.
    println!("without a control here: {without_control:?}");
    if nix::unistd::geteuid().is_root() {
        assert!(without_control.len() <= 12, "{without_control:?}");
    }
}

#[test]
fn every_call_that_a_job_is_refused_is_refused_and_its_neighbour_is_not() {
    check_refusals(&muse::calls(&muse::Options::default()));
    check_refusals(&muse::calls(&muse::Options { udp: true, memfd: true, ..muse::Options::default() }));
}

#[test]
fn every_call_that_the_worker_is_refused_is_refused_and_its_neighbour_is_not() {
    check_refusals(&worker::CALLS);
}

#[test]
fn a_job_that_may_use_udp_can_and_another_cannot() {
    let udp = [i64::from(libc::AF_INET), libc::SOCK_DGRAM.into(), 0, 0, 0, 0];
    for (allowed, outcome) in [(true, Outcome::Done), (false, Outcome::Failed(Errno::EPERM))] {
        let options = muse::Options { udp: allowed, ..muse::Options::default() };
        let filters = Filters::compile(&muse::calls(&options), Otherwise::Allow).unwrap();
        assert_eq!(call(Some(&filters), libc::SYS_socket, udp), outcome);
    }
}

#[test]
fn every_call_on_the_supervisors_list_comes_through_and_without_its_condition_does_not() {
    let filters = Filters::compile(supervisor::CALLS, Otherwise::Refuse).unwrap();
    for rule in supervisor::CALLS.iter().filter(|rule| rule.answer == Answer::Allow) {
        let (name, number) = (rule.call.name, rule.call.number);
        let refused = Outcome::Failed(Errno::EPERM);
        let lines: Vec<[i64; 6]> = if rule.when.is_empty() {
            vec![NONSENSE]
        } else {
            rule.when.iter().map(|all_of| satisfying(all_of)).collect()
        };
        for arguments in lines {
            assert_ne!(call(Some(&filters), number, arguments), refused, "{name} {arguments:?}");
        }
        let beyond: Option<[i64; 6]> = match name {
            "socket" => Some([libc::AF_INET.into(), libc::SOCK_STREAM.into(), 0, 0, 0, 0]),
            "ioctl" | "fcntl" => Some([-1, 0x5412, 0, 0, 0, 0]),
            "mmap" | "mprotect" => Some([0, 4096, 7, -1, -1, 0]),
            "clone" => Some([libc::SIGCHLD.into(), 0, 0, 0, 0, 0]),
            "prctl" => Some([libc::PR_SET_DUMPABLE.into(), 1, 0, 0, 0, 0]),
            _ => None,
        };
        assert_eq!(beyond.is_some(), !rule.when.is_empty(), "{name}: a condition without a test");
        if let Some(arguments) = beyond {
            assert_eq!(call(Some(&filters), number, arguments), refused, "{name} {arguments:?}");
        }
    }
}

#[test]
fn a_call_beyond_the_supervisors_list_ends_the_process() {
    let filters = Filters::compile(supervisor::CALLS, Otherwise::Kill).unwrap();
    let beyond = [
        libc::SYS_execve,
        libc::SYS_execveat,
        libc::SYS_bind,
        libc::SYS_listen,
        libc::SYS_kill,
        libc::SYS_ptrace,
        libc::SYS_memfd_create,
        libc::SYS_unshare,
        libc::SYS_mount,
        libc::SYS_io_uring_setup,
        libc::SYS_seccomp,
        libc::SYS_setuid,
        libc::SYS_bpf,
    ];
    for number in beyond {
        let outcome = call(Some(&filters), number, NONSENSE);
        assert!(
            matches!(outcome, Outcome::Ended(WaitStatus::Signaled(_, nix::sys::signal::Signal::SIGSYS, _))),
            "{number}: {outcome:?}"
        );
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn the_second_table_of_numbers_leads_nowhere() {
    let filters = Filters::compile(&muse::calls(&muse::Options::default()), Otherwise::Allow).unwrap();
    let x32 = libc::SYS_getpid | 0x4000_0000;
    assert_eq!(call(Some(&filters), x32, NONSENSE), Outcome::Failed(Errno::ENOSYS));
    assert_eq!(call(Some(&filters), libc::SYS_getpid, NONSENSE), Outcome::Done);
}

#[test]
fn every_rule_says_why() {
    let lists: [&[CallRule]; 5] =
        [muse::CALLS, muse::SOCKETS, muse::SOCKETS_WITH_UDP, muse::NEW_CODE, supervisor::CALLS];
    assert!(lists.concat().iter().all(|rule| !rule.why.is_empty()));
    let paths = [muse::PATHS, worker::PATHS, supervisor::PATHS].concat();
    assert!(paths.iter().all(|rule| !rule.why.is_empty() && rule.path.starts_with('/')));
}
