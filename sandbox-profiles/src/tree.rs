//! Who descends from whom, as the system lists it now. A snapshot: whoever forks meanwhile is not in it.

use nix::unistd::Pid;

/// Most levels that are walked.
const DEEPEST: usize = 64;

/// The children of a process.
#[must_use]
pub fn children_of(parent: Pid) -> Vec<Pid> {
    #[cfg(target_os = "linux")]
    {
        let list = std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).unwrap_or_default();
        list.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).map(Pid::from_raw).collect()
    }
    #[cfg(target_os = "macos")]
    {
        let mut pids = [0 as libc::pid_t; 1024];
        let size = i32::try_from(size_of_val(&pids)).unwrap_or(0);
        // SAFETY: the buffer is as long as is said; the call writes whole pids and returns how many.
        let found = unsafe { libc::proc_listchildpids(parent.as_raw(), pids.as_mut_ptr().cast(), size) };
        let found = usize::try_from(found).unwrap_or(0);
        pids.iter().take(found).filter(|pid| **pid > 0).map(|pid| Pid::from_raw(*pid)).collect()
    }
}

/// All descendants of a process, parents before their children.
#[must_use]
pub fn descendants_of(root: Pid) -> Vec<Pid> {
    let mut all = Vec::new();
    let mut level = children_of(root);
    for _ in 0..DEEPEST {
        if level.is_empty() {
            break;
        }
        let next = level.iter().flat_map(|pid| children_of(*pid)).collect();
        all.append(&mut level);
        level = next;
    }
    all
}
