//! System calls that a job is refused, or told not to exist.

use crate::seccomp::Answer::{Refuse, Unknown};
use crate::seccomp::If::{Bits, Is, Not};
use crate::seccomp::{CallRule, always, when};

const INET: u32 = libc::AF_INET.cast_unsigned();
const INET6: u32 = libc::AF_INET6.cast_unsigned();
const UNIX: u32 = libc::AF_UNIX.cast_unsigned();
const TCP: u32 = libc::IPPROTO_TCP.cast_unsigned();
const UDP: u32 = libc::IPPROTO_UDP.cast_unsigned();
const FAST: u32 = libc::MSG_FASTOPEN.cast_unsigned();
/// The kind of a socket, without its flags.
const KIND: u32 = 0xf;
// Every flag of clone(2) that makes a namespace.
const USER: u32 = 0x1000_0000;
const PID: u32 = 0x2000_0000;
const NET: u32 = 0x4000_0000;
const MOUNT: u32 = 0x2_0000;
const UTS: u32 = 0x400_0000;
const IPC: u32 = 0x800_0000;
const CGROUP: u32 = 0x200_0000;

/// Sockets: TCP only.
#[rustfmt::skip] // one rule a line
pub const SOCKETS: &[CallRule] = &[
    when("socket", libc::SYS_socket, &[&[Not(0, INET), Not(0, INET6)]], Refuse,
        "Unix, vsock, packet, netlink and all other families lead to services that Landlock does not bound"),
    when("socket", libc::SYS_socket, &[&[Bits(1, KIND, 2)], &[Bits(1, KIND, 3)], &[Bits(1, KIND, 4)], &[Bits(1, KIND, 5)], &[Bits(1, KIND, 6)], &[Bits(1, KIND, 10)]], Refuse,
        "Landlock bounds TCP; datagrams and raw sockets go anywhere"),
    when("socket", libc::SYS_socket, &[&[Not(2, 0), Not(2, TCP)]], Refuse,
        "MPTCP and SCTP connect past Landlock's ports"),
];

/// Sockets: TCP and UDP.
#[rustfmt::skip] // one rule a line
pub const SOCKETS_WITH_UDP: &[CallRule] = &[
    when("socket", libc::SYS_socket, &[&[Not(0, INET), Not(0, INET6)]], Refuse,
        "as without UDP"),
    when("socket", libc::SYS_socket, &[&[Bits(1, KIND, 3)], &[Bits(1, KIND, 4)], &[Bits(1, KIND, 5)], &[Bits(1, KIND, 6)], &[Bits(1, KIND, 10)]], Refuse,
        "raw sockets go anywhere"),
    when("socket", libc::SYS_socket, &[&[Not(2, 0), Not(2, TCP), Not(2, UDP)]], Refuse,
        "MPTCP and SCTP connect past Landlock's ports, UDP-Lite past what bounds UDP"),
];

/// Code that was never a file.
#[rustfmt::skip] // one rule a line
pub const NEW_CODE: &[CallRule] = &[
    always("memfd_create", libc::SYS_memfd_create, Unknown, "a file in memory can be executed where no file may be"),
    always("memfd_secret", libc::SYS_memfd_secret, Unknown, "the same, and hidden"),
];

/// What no job needs.
#[rustfmt::skip] // one rule a line
pub const CALLS: &[CallRule] = &[
    // sockets
    when("socketpair", libc::SYS_socketpair, &[&[Not(0, UNIX)]], Refuse, "pairs of one's own are harmless; other families are not made for this"),
    when("sendto", libc::SYS_sendto, &[&[Bits(3, FAST, FAST)]], Refuse, "connects while it sends, past Landlock's ports"),
    when("sendmsg", libc::SYS_sendmsg, &[&[Bits(2, FAST, FAST)]], Refuse, "the same"),
    when("sendmmsg", libc::SYS_sendmmsg, &[&[Bits(3, FAST, FAST)]], Refuse, "the same"),
    always("io_uring_setup", libc::SYS_io_uring_setup, Unknown, "a second way to most system calls, which no filter sees"),
    always("io_uring_enter", libc::SYS_io_uring_enter, Unknown, "the same"),
    always("io_uring_register", libc::SYS_io_uring_register, Unknown, "the same"),
    // other processes
    always("ptrace", libc::SYS_ptrace, Refuse, "reads and steers other processes"),
    always("process_vm_readv", libc::SYS_process_vm_readv, Refuse, "reads other processes"),
    always("process_vm_writev", libc::SYS_process_vm_writev, Refuse, "changes other processes"),
    always("process_madvise", libc::SYS_process_madvise, Refuse, "changes other processes"),
    always("process_mrelease", libc::SYS_process_mrelease, Refuse, "the same"),
    always("kcmp", libc::SYS_kcmp, Refuse, "compares the kernel's addresses"),
    always("pidfd_getfd", libc::SYS_pidfd_getfd, Refuse, "takes descriptors of other processes"),
    // namespaces and mounts: each new one is a large piece of the kernel with privileges inside
    always("unshare", libc::SYS_unshare, Refuse, "new namespaces"),
    always("setns", libc::SYS_setns, Refuse, "other namespaces"),
    when("clone", libc::SYS_clone, &[&[Bits(0, USER, USER)], &[Bits(0, PID, PID)], &[Bits(0, NET, NET)], &[Bits(0, MOUNT, MOUNT)], &[Bits(0, UTS, UTS)], &[Bits(0, IPC, IPC)], &[Bits(0, CGROUP, CGROUP)]], Refuse,
        "new namespaces"),
    always("clone3", libc::SYS_clone3, Unknown, "its flags lie in memory, where no filter can read them; libraries fall back to clone"),
    always("mount", libc::SYS_mount, Refuse, "other files in the place of known ones"),
    always("umount2", libc::SYS_umount2, Refuse, "the same"),
    always("pivot_root", libc::SYS_pivot_root, Refuse, "the same"),
    always("chroot", libc::SYS_chroot, Refuse, "the same"),
    always("move_mount", libc::SYS_move_mount, Refuse, "the same"),
    always("open_tree", libc::SYS_open_tree, Refuse, "the same"),
    always("fsopen", libc::SYS_fsopen, Refuse, "the same"),
    always("fsconfig", libc::SYS_fsconfig, Refuse, "the same"),
    always("fsmount", libc::SYS_fsmount, Refuse, "the same"),
    always("fspick", libc::SYS_fspick, Refuse, "the same"),
    always("mount_setattr", libc::SYS_mount_setattr, Refuse, "the same"),
    // around the paths
    always("open_by_handle_at", libc::SYS_open_by_handle_at, Refuse, "opens files by number, past every folder"),
    always("name_to_handle_at", libc::SYS_name_to_handle_at, Refuse, "finds these numbers"),
    always("fanotify_init", libc::SYS_fanotify_init, Refuse, "watches what others open"),
    always("quotactl", libc::SYS_quotactl, Refuse, "the administrator's"),
    // large pieces of the kernel, and the administrator's calls
    always("bpf", libc::SYS_bpf, Refuse, "programs in the kernel"),
    always("perf_event_open", libc::SYS_perf_event_open, Refuse, "measures others"),
    always("userfaultfd", libc::SYS_userfaultfd, Unknown, "holds the kernel up at a chosen moment, the tool of many attacks"),
    always("keyctl", libc::SYS_keyctl, Refuse, "keys of the uid or session are shared with others"),
    always("add_key", libc::SYS_add_key, Refuse, "the same"),
    always("request_key", libc::SYS_request_key, Refuse, "the same"),
    always("kexec_load", libc::SYS_kexec_load, Refuse, "another kernel"),
    always("init_module", libc::SYS_init_module, Refuse, "code in the kernel"),
    always("finit_module", libc::SYS_finit_module, Refuse, "the same"),
    always("delete_module", libc::SYS_delete_module, Refuse, "the same"),
    always("reboot", libc::SYS_reboot, Refuse, "the administrator's"),
    always("swapon", libc::SYS_swapon, Refuse, "the administrator's"),
    always("swapoff", libc::SYS_swapoff, Refuse, "the administrator's"),
    always("acct", libc::SYS_acct, Refuse, "the administrator's"),
    always("syslog", libc::SYS_syslog, Refuse, "the kernel's log tells addresses"),
    always("clock_settime", libc::SYS_clock_settime, Refuse, "the administrator's"),
    always("settimeofday", libc::SYS_settimeofday, Refuse, "the administrator's"),
    always("adjtimex", libc::SYS_adjtimex, Refuse, "the administrator's"),
    always("clock_adjtime", libc::SYS_clock_adjtime, Refuse, "the administrator's"),
    always("sethostname", libc::SYS_sethostname, Refuse, "the administrator's"),
    always("setdomainname", libc::SYS_setdomainname, Refuse, "the administrator's"),
    #[cfg(target_arch = "x86_64")]
    always("kexec_file_load", libc::SYS_kexec_file_load, Refuse, "another kernel"),
    #[cfg(target_arch = "x86_64")]
    always("iopl", libc::SYS_iopl, Refuse, "the hardware"),
    #[cfg(target_arch = "x86_64")]
    always("ioperm", libc::SYS_ioperm, Refuse, "the hardware"),
    #[cfg(target_arch = "x86_64")]
    always("modify_ldt", libc::SYS_modify_ldt, Refuse, "segments of 16 bits, the tool of many attacks"),
    // ways to others of the same uid
    always("shmget", libc::SYS_shmget, Refuse, "memory shared with whoever has the key"),
    always("msgget", libc::SYS_msgget, Refuse, "the same for messages"),
    always("semget", libc::SYS_semget, Refuse, "the same for semaphores"),
    always("mq_open", libc::SYS_mq_open, Refuse, "the same by name"),
    when("ioctl", libc::SYS_ioctl, &[&[Is(1, 0x5412)], &[Is(1, 0x541c)]], Refuse, "types into a terminal as if the user did"),
];
