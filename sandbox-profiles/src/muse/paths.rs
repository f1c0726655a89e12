//! Files and folders outside a job's scratch folder.

use crate::landlock::Access::{Execute, Read, Use};
use crate::landlock::{Access, PathRule};

const fn path(path: &'static str, access: Access, why: &'static str) -> PathRule {
    PathRule { path, access, why }
}

/// What every job may do with files outside its scratch folder.
#[rustfmt::skip] // one rule a line
pub const PATHS: &[PathRule] = &[
    path("/usr", Execute, "libraries and tools of the system; nothing in it is secret"),
    path("/bin", Execute, "the same, where it is not a link to /usr"),
    path("/sbin", Execute, "the same"),
    path("/lib", Execute, "the same"),
    path("/lib64", Execute, "the dynamic loader"),
    path("/lib32", Execute, "the same"),
    path("/nix/store", Execute, "where that is the system's /usr"),
    path("/etc/ld.so.cache", Read, "the loader's index"),
    path("/etc/ld.so.preload", Read, "the loader asks for it"),
    path("/etc/alternatives", Read, "links of /usr lead through it"),
    path("/etc/ssl", Read, "certificates of authorities"),
    path("/etc/pki", Read, "the same elsewhere"),
    path("/etc/ca-certificates", Read, "the same elsewhere"),
    path("/etc/resolv.conf", Read, "whom to ask for names"),
    path("/run/systemd/resolve", Read, "where the former may point to; the sockets in it cannot be opened"),
    path("/etc/hosts", Read, "localhost"),
    path("/etc/nsswitch.conf", Read, "how names are asked for"),
    path("/etc/host.conf", Read, "the same"),
    path("/etc/gai.conf", Read, "the same"),
    path("/etc/services", Read, "names of ports"),
    path("/etc/protocols", Read, "names of protocols"),
    path("/etc/passwd", Read, "programs ask for the name and home of their uid; no secret is in it"),
    path("/etc/group", Read, "the same"),
    path("/etc/localtime", Read, "the time zone"),
    path("/etc/timezone", Read, "the same"),
    path("/etc/os-release", Read, "programs tell systems apart by it"),
    path("/etc/locale.alias", Read, "languages"),
    path("/dev/null", Use, "to throw away"),
    path("/dev/zero", Read, "zeros"),
    path("/dev/full", Use, "programs test themselves with it"),
    path("/dev/random", Read, "random bytes"),
    path("/dev/urandom", Read, "random bytes"),
    path("/proc/meminfo", Read, "runtimes size their heaps by it"),
    path("/proc/cpuinfo", Read, "runtimes look for features"),
    path("/proc/stat", Read, "how many processors"),
    path("/proc/loadavg", Read, "how busy"),
    path("/proc/uptime", Read, "how long up"),
    path("/proc/version", Read, "which kernel"),
    path("/proc/filesystems", Read, "libraries look for it"),
    path("/proc/sys/kernel/osrelease", Read, "which kernel"),
    path("/proc/sys/kernel/pid_max", Read, "libraries ask"),
    path("/proc/sys/vm/overcommit_memory", Read, "allocators ask"),
    path("/proc/sys/vm/max_map_count", Read, "allocators ask"),
    path("/sys/devices/system/cpu", Read, "how many processors"),
    path("/sys/kernel/mm/transparent_hugepage", Read, "allocators ask"),
    path("/sys/fs/cgroup", Read, "runtimes read their own limits; counts, no contents"),
];
