//! Which system calls are refused, and when. Numbers: arch/x86/entry/syscalls/syscall_64.tbl and
//! include/uapi/asm-generic/unistd.h; from 424 on they are the same everywhere.

use confine_core::probe::Arch;

/// What a refused call answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    /// EPERM.
    NotPermitted,
    /// ENOSYS: the caller falls back to an older call.
    NoSuchCall,
    /// EAFNOSUPPORT, as a kernel without the family.
    NoSuchFamily,
    /// EPROTONOSUPPORT: what libaudit and others take for "not configured".
    NoSuchProtocol,
}

/// Which policies a rule is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// All.
    Always,
    /// Unless the policy says `nested = true`.
    NotNested,
    /// Where no namespace keeps the host's processes out of reach.
    Exposed,
    /// Where the network is off and no namespace does it.
    Offline,
}

/// A comparison of the low 32 bits of an argument: the kernel reads these arguments as 32 bits, and a filter that
/// compares 64 is passed by a high bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    /// It is this.
    Is(u32),
    /// It is not this.
    IsNot(u32),
    /// Under the first mask it is the second value.
    Masked(u32, u32),
    /// At least one of these bits is set.
    Any(u32),
}

/// A test of one argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition {
    /// 0 to 5.
    pub argument: u8,
    /// Of its low 32 bits.
    pub test: Test,
}

/// One reason to refuse a call: all conditions hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// For which policies.
    pub when: When,
    /// All of these.
    pub conditions: &'static [Condition],
    /// The answer.
    pub action: Action,
}

/// One system call; its first matching rule answers, without one it is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// As in the manual.
    pub name: &'static str,
    /// On x86_64.
    pub x86_64: Option<u32>,
    /// On aarch64.
    pub aarch64: Option<u32>,
    /// In order.
    pub rules: &'static [Rule],
}

impl Call {
    /// Its number on `arch`.
    pub const fn number(&self, arch: Arch) -> Option<u32> {
        match arch {
            Arch::X86_64 => self.x86_64,
            Arch::Aarch64 => self.aarch64,
        }
    }
}

const fn arg(argument: u8, test: Test) -> Condition {
    Condition { argument, test }
}

const fn eperm(when: When, conditions: &'static [Condition]) -> Rule {
    Rule { when, conditions, action: Action::NotPermitted }
}

const fn call(name: &'static str, x86_64: u32, aarch64: u32, rules: &'static [Rule]) -> Call {
    Call { name, x86_64: Some(x86_64), aarch64: Some(aarch64), rules }
}

const fn old(name: &'static str, x86_64: u32, rules: &'static [Rule]) -> Call {
    Call { name, x86_64: Some(x86_64), aarch64: None, rules }
}

/// S_ISUID and S_ISGID: a set-id file in a write grant is a set-id file of the caller on the host.
const SETID: Test = Test::Any(0o6000);
/// O_CREAT or `__O_TMPFILE`: else the register of the mode holds anything.
const CREATES: Test = Test::Any(0o100 | 0o20_000_000);
const FORMAT: u32 = 0o170_000;
const CHARACTER_DEVICE: Test = Test::Masked(FORMAT, 0o020_000);
const BLOCK_DEVICE: Test = Test::Masked(FORMAT, 0o060_000);
/// Every CLONE_NEW* of clone(2).
const NAMESPACES: u32 = 0x7e02_0000;
/// CLONE_NEWTIME, which clone(2) takes for a signal number.
const TIME_NAMESPACE: u32 = 0x80;

const UNIX: u32 = 1;
const INET: u32 = 2;
const INET6: u32 = 10;
const NETLINK: u32 = 16;
/// The type without SOCK_NONBLOCK and SOCK_CLOEXEC.
const TYPE: u32 = 0xf;
const RAW: Test = Test::Masked(TYPE, 3);
const PACKET: Test = Test::Masked(TYPE, 10);

const DENY: &[Rule] = &[eperm(When::Always, &[])];
const DENY_UNLESS_NESTED: &[Rule] = &[eperm(When::NotNested, &[])];
const MODE_1: &[Rule] = &[eperm(When::Always, &[arg(1, SETID)])];
const MODE_2: &[Rule] = &[eperm(When::Always, &[arg(2, SETID)])];
const OPEN: &[Rule] = &[eperm(When::Always, &[arg(1, CREATES), arg(2, SETID)])];
const OPENAT: &[Rule] = &[eperm(When::Always, &[arg(2, CREATES), arg(3, SETID)])];
const MKNOD: &[Rule] = &[
    eperm(When::Always, &[arg(1, SETID)]),
    eperm(When::Always, &[arg(1, CHARACTER_DEVICE)]),
    eperm(When::Always, &[arg(1, BLOCK_DEVICE)]),
];
const MKNODAT: &[Rule] = &[
    eperm(When::Always, &[arg(2, SETID)]),
    eperm(When::Always, &[arg(2, CHARACTER_DEVICE)]),
    eperm(When::Always, &[arg(2, BLOCK_DEVICE)]),
];
const ENOSYS: &[Rule] = &[Rule { when: When::Always, conditions: &[], action: Action::NoSuchCall }];
const ENOSYS_UNLESS_NESTED: &[Rule] =
    &[Rule { when: When::NotNested, conditions: &[], action: Action::NoSuchCall }];
const CLONE: &[Rule] = &[eperm(When::NotNested, &[arg(0, Test::Any(NAMESPACES))])];
const UNSHARE: &[Rule] = &[eperm(When::NotNested, &[arg(0, Test::Any(NAMESPACES | TIME_NAMESPACE))])];
/// TIOCSTI and TIOCLINUX push input into a terminal; TIOCEXCL and TIOCSETD outlive the program on the caller's.
const IOCTL: &[Rule] = &[
    eperm(When::Always, &[arg(1, Test::Is(0x5412))]),
    eperm(When::Always, &[arg(1, Test::Is(0x541c))]),
    eperm(When::Always, &[arg(1, Test::Is(0x540c))]),
    eperm(When::Always, &[arg(1, Test::Is(0x5423))]),
];
/// RENAME_WHITEOUT leaves a device node.
const RENAME: &[Rule] = &[eperm(When::Always, &[arg(4, Test::Any(4))])];
const SOCKET: &[Rule] = &[
    Rule {
        when: When::Always,
        conditions: &[
            arg(0, Test::IsNot(UNIX)),
            arg(0, Test::IsNot(INET)),
            arg(0, Test::IsNot(INET6)),
            arg(0, Test::IsNot(NETLINK)),
        ],
        action: Action::NoSuchFamily,
    },
    // NETLINK_ROUTE is 0.
    Rule {
        when: When::Always,
        conditions: &[arg(0, Test::Is(NETLINK)), arg(2, Test::IsNot(0))],
        action: Action::NoSuchProtocol,
    },
    eperm(When::Offline, &[arg(0, Test::Is(INET))]),
    eperm(When::Offline, &[arg(0, Test::Is(INET6))]),
    // A raw netlink socket is an ordinary one.
    eperm(When::Always, &[arg(0, Test::Is(INET)), arg(1, RAW)]),
    eperm(When::Always, &[arg(0, Test::Is(INET6)), arg(1, RAW)]),
    eperm(When::Always, &[arg(0, Test::Is(INET)), arg(1, PACKET)]),
    eperm(When::Always, &[arg(0, Test::Is(INET6)), arg(1, PACKET)]),
];

/// Another process by its id. Its limits need no more than the same user, and neither signal scopes nor ptrace(2)'s checks
/// see them: RLIMIT_CPU of 0 kills a process of the host, or the stage itself.
const ANOTHERS_LIMITS: &[Rule] = &[eperm(When::Always, &[arg(0, Test::IsNot(0))])];
/// Likewise its scheduling. A thread of one's own by its id is refused with the others.
const ANOTHERS_SCHEDULE: &[Rule] = &[eperm(When::Exposed, &[arg(0, Test::IsNot(0))])];
/// PRIO_USER is 2, and every process of the user.
const PRIORITY: &[Rule] =
    &[eperm(When::Exposed, &[arg(1, Test::IsNot(0))]), eperm(When::Exposed, &[arg(0, Test::Is(2))])];
/// IOPRIO_WHO_USER is 3.
const IO_PRIORITY: &[Rule] =
    &[eperm(When::Exposed, &[arg(1, Test::IsNot(0))]), eperm(When::Exposed, &[arg(0, Test::Is(3))])];

/// Every call that is refused for some arguments under some policy.
pub const CALLS: &[Call] = &[
    // Mode bits that outlive the sandbox.
    old("open", 2, OPEN),
    old("creat", 85, MODE_1),
    call("openat", 257, 56, OPENAT),
    call("openat2", 437, 437, ENOSYS),
    old("chmod", 90, MODE_1),
    call("fchmod", 91, 52, MODE_1),
    call("fchmodat", 268, 53, MODE_2),
    call("fchmodat2", 452, 452, MODE_2),
    old("mkdir", 83, MODE_1),
    call("mkdirat", 258, 34, MODE_2),
    old("mknod", 133, MKNOD),
    call("mknodat", 259, 33, MKNODAT),
    call("renameat2", 316, 276, RENAME),
    // Terminals.
    call("ioctl", 16, 29, IOCTL),
    // Sockets.
    call("socket", 41, 198, SOCKET),
    // Namespaces and mounts.
    call("clone", 56, 220, CLONE),
    call("clone3", 435, 435, ENOSYS_UNLESS_NESTED),
    call("unshare", 272, 97, UNSHARE),
    call("setns", 308, 268, DENY_UNLESS_NESTED),
    call("mount", 165, 40, DENY_UNLESS_NESTED),
    call("umount2", 166, 39, DENY_UNLESS_NESTED),
    call("pivot_root", 155, 41, DENY_UNLESS_NESTED),
    call("chroot", 161, 51, DENY_UNLESS_NESTED),
    call("open_tree", 428, 428, DENY_UNLESS_NESTED),
    call("move_mount", 429, 429, DENY_UNLESS_NESTED),
    call("fsopen", 430, 430, DENY_UNLESS_NESTED),
    call("fsconfig", 431, 431, DENY_UNLESS_NESTED),
    call("fsmount", 432, 432, DENY_UNLESS_NESTED),
    call("fspick", 433, 433, DENY_UNLESS_NESTED),
    call("mount_setattr", 442, 442, DENY_UNLESS_NESTED),
    call("open_tree_attr", 467, 467, DENY_UNLESS_NESTED),
    call("sethostname", 170, 161, DENY_UNLESS_NESTED),
    call("setdomainname", 171, 162, DENY_UNLESS_NESTED),
    // Other processes.
    call("prlimit64", 302, 261, ANOTHERS_LIMITS),
    call("sched_setparam", 142, 118, ANOTHERS_SCHEDULE),
    call("sched_setscheduler", 144, 119, ANOTHERS_SCHEDULE),
    call("sched_setaffinity", 203, 122, ANOTHERS_SCHEDULE),
    call("sched_setattr", 314, 274, ANOTHERS_SCHEDULE),
    call("setpriority", 141, 140, PRIORITY),
    call("ioprio_set", 251, 30, IO_PRIORITY),
    // Rarely used kernel interfaces.
    call("bpf", 321, 280, DENY),
    call("perf_event_open", 298, 241, DENY),
    call("userfaultfd", 323, 282, DENY),
    call("io_uring_setup", 425, 425, DENY),
    call("io_uring_enter", 426, 426, DENY),
    call("io_uring_register", 427, 427, DENY),
    call("add_key", 248, 217, DENY),
    call("request_key", 249, 218, DENY),
    call("keyctl", 250, 219, DENY),
    call("kexec_load", 246, 104, DENY),
    call("kexec_file_load", 320, 294, DENY),
    call("init_module", 175, 105, DENY),
    call("finit_module", 313, 273, DENY),
    call("delete_module", 176, 106, DENY),
    call("open_by_handle_at", 304, 265, DENY),
    call("pidfd_getfd", 438, 438, DENY),
    call("syslog", 103, 116, DENY),
    call("acct", 163, 89, DENY),
    call("quotactl", 179, 60, DENY),
    call("quotactl_fd", 443, 443, DENY),
    call("swapon", 167, 224, DENY),
    call("swapoff", 168, 225, DENY),
    call("reboot", 169, 142, DENY),
    old("iopl", 172, DENY),
    old("ioperm", 173, DENY),
];
