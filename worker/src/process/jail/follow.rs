//! The processes of a tree as far as they were seen being forked, for systems that hand orphans to process 1 and tell
//! nobody. A tree that forks and exits faster than it is listed gets away: that is what no sound kill means.

use nix::unistd::Pid;
use std::collections::BTreeSet;

/// Most processes that are remembered; a tree of more is killed in turns.
const MOST: usize = 65_536;

/// The known ones.
#[derive(Debug, Default)]
pub(super) struct Followed(BTreeSet<Pid>);

impl Followed {
    /// A process has forked, or is the first: whoever is below it, as `children` lists it, is known from now on.
    /// Returns the new ones, which are to be watched too.
    pub(super) fn seen(&mut self, pid: Pid, children: impl Fn(Pid) -> Vec<Pid>) -> Vec<Pid> {
        let (mut new, mut level) = (Vec::new(), vec![pid]);
        while let Some(pid) = level.pop() {
            if self.0.len() >= MOST {
                break;
            }
            if self.0.insert(pid) {
                new.push(pid);
            }
            level.extend(children(pid).into_iter().filter(|child| !self.0.contains(child)));
        }
        new
    }

    /// A process is no more. Its number may be another's from now on.
    pub(super) fn ended(&mut self, pid: Pid) {
        self.0.remove(&pid);
    }

    /// All that are known and not known to have ended.
    pub(super) fn all(&self) -> Vec<Pid> {
        self.0.iter().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Children by parent.
    struct Table(BTreeMap<i32, Vec<i32>>);

    impl Table {
        fn children(&self, pid: Pid) -> Vec<Pid> {
            self.0.get(&pid.as_raw()).into_iter().flatten().map(|pid| Pid::from_raw(*pid)).collect()
        }
    }

    fn numbers(pids: &[Pid]) -> Vec<i32> {
        let mut numbers: Vec<i32> = pids.iter().map(|pid| pid.as_raw()).collect();
        numbers.sort_unstable();
        numbers
    }

    #[test]
    fn a_grandchild_that_outlives_its_parent_is_still_known() {
        let mut table = Table(BTreeMap::from([(10, vec![11]), (11, vec![12])]));
        let mut followed = Followed::default();
        assert_eq!(numbers(&followed.seen(Pid::from_raw(10), |pid| table.children(pid))), [10, 11, 12]);
        table.0.clear(); // 12 is process 1's now
        followed.ended(Pid::from_raw(11));
        followed.ended(Pid::from_raw(10));
        assert_eq!(numbers(&followed.all()), [12]);
    }

    #[test]
    fn a_fork_of_a_known_process_is_seen_once() {
        let mut table = Table(BTreeMap::from([(10, vec![])]));
        let mut followed = Followed::default();
        followed.seen(Pid::from_raw(10), |pid| table.children(pid));
        table.0.insert(10, vec![11, 12]);
        assert_eq!(numbers(&followed.seen(Pid::from_raw(10), |pid| table.children(pid))), [11, 12]);
        assert_eq!(numbers(&followed.seen(Pid::from_raw(10), |pid| table.children(pid))), [] as [i32; 0]);
    }

    #[test]
    fn a_table_that_goes_in_circles_ends() {
        let table = Table(BTreeMap::from([(10, vec![11]), (11, vec![10])]));
        let mut followed = Followed::default();
        assert_eq!(numbers(&followed.seen(Pid::from_raw(10), |pid| table.children(pid))), [10, 11]);
    }
}
