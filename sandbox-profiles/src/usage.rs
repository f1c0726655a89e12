//! What this process uses of the machine, for its own metrics. Where the system does not say it without unsafe code it is
//! not known.

/// Memory of this process that is resident, KiB.
#[must_use]
pub fn resident_kib() -> Option<u64> {
    #[cfg(target_os = "linux")]
    {
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        line.trim().strip_suffix("kB")?.trim().parse().ok()
    }
    #[cfg(not(target_os = "linux"))]
    None
}

/// Descriptors that this process has open, without the one that counts them.
#[must_use]
pub fn open_descriptors() -> Option<u64> {
    #[cfg(target_os = "linux")]
    let folder = "/proc/self/fd";
    #[cfg(not(target_os = "linux"))]
    let folder = "/dev/fd";
    let all = std::fs::read_dir(folder).ok()?.count();
    u64::try_from(all).ok()?.checked_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_are_counted() {
        let before = open_descriptors().unwrap();
        let _more: Vec<_> = (0..500).map(|_| std::fs::File::open("/dev/null").unwrap()).collect();
        let more = open_descriptors().unwrap().saturating_sub(before);
        assert!((450..550).contains(&more), "other tests open some too: {more}");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn memory_that_is_touched_is_resident() {
        let before = resident_kib().unwrap();
        let touched = vec![1u8; 64 << 20];
        let grown = resident_kib().unwrap().saturating_sub(before);
        assert!((50 << 10..100 << 10).contains(&grown), "{grown} KiB for {} MiB", touched.len() >> 20);
    }
}
