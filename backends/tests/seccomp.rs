//! The filter, run by an interpreter, against the same table compiled by seccompiler.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::as_conversions,
    reason = "functions of tests, outside the test functions"
)]

use std::collections::BTreeMap;

use confine_backends::seccomp::bpf::{self, Instruction, assemble};
use confine_backends::seccomp::{Action, CALLS, Condition, Isolation, Setting, Test, program};
use confine_core::policy::NetPlan;
use confine_core::probe::Arch;
use proptest::prelude::*;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch,
};

#[derive(Clone, Copy, Debug)]
struct Call {
    number: u32,
    arch: u32,
    arguments: [u64; 6],
}

impl Call {
    fn field(&self, offset: u32) -> u32 {
        let half = |value: u64, high: bool| (if high { value >> 32 } else { value & 0xffff_ffff }) as u32;
        match offset {
            0 => self.number,
            4 => self.arch,
            8 | 12 => 0,
            _ => half(self.arguments[(offset as usize - 16) / 8], offset % 8 == 4),
        }
    }
}

/// Classic BPF as far as seccomp takes it, and how many instructions it took.
fn interpret(program: &[Instruction], call: &Call) -> (u32, usize) {
    let (mut at, mut accumulator, mut steps) = (0usize, 0u32, 0usize);
    loop {
        let Instruction { code, jump_true, jump_false, operand } = program[at];
        (at, steps) = (at + 1, steps + 1);
        let jump = |holds: bool| usize::from(if holds { jump_true } else { jump_false });
        match code {
            bpf::LOAD => accumulator = call.field(operand),
            bpf::AND => accumulator &= operand,
            bpf::JUMP => at += operand as usize,
            bpf::JUMP_EQUAL => at += jump(accumulator == operand),
            bpf::JUMP_AT_LEAST => at += jump(accumulator >= operand),
            0x25 => at += jump(accumulator > operand),
            bpf::JUMP_ANY => at += jump(accumulator & operand != 0),
            bpf::RETURN => return (operand, steps),
            other => panic!("unknown instruction {other:#x}"),
        }
    }
}

const DEFAULT: Setting =
    Setting { arch: Arch::X86_64, nested: false, net: NetPlan::Off, isolation: Isolation::Namespace };

fn settings() -> Vec<Setting> {
    let mut settings = Vec::new();
    for arch in [Arch::X86_64, Arch::Aarch64] {
        for nested in [false, true] {
            for isolation in [Isolation::Namespace, Isolation::Filter] {
                for net in [NetPlan::Off, NetPlan::Open] {
                    settings.push(Setting { arch, nested, net, isolation });
                }
            }
        }
    }
    settings
}

fn audit(arch: Arch) -> u32 {
    match arch {
        Arch::X86_64 => 0xc000_003e,
        Arch::Aarch64 => 0xc000_00b7,
    }
}

/// Each condition as seccompiler has it; "any of these bits" becomes one alternative a bit.
fn alternatives(condition: &Condition) -> Vec<SeccompCondition> {
    let one = |operator, value| {
        SeccompCondition::new(condition.argument, SeccompCmpArgLen::Dword, operator, u64::from(value))
            .unwrap()
    };
    match condition.test {
        Test::Is(value) => vec![one(SeccompCmpOp::Eq, value)],
        Test::IsNot(value) => vec![one(SeccompCmpOp::Ne, value)],
        Test::Masked(mask, value) => vec![one(SeccompCmpOp::MaskedEq(u64::from(mask)), value)],
        Test::Any(bits) => (0..32)
            .map(|bit| 1u32 << bit)
            .filter(|bit| bits & bit != 0)
            .map(|bit| one(SeccompCmpOp::MaskedEq(u64::from(bit)), bit))
            .collect(),
    }
}

/// One of seccompiler's filters has one action, so there is one a kind of answer; the first that matches answers.
fn oracle(setting: Setting) -> Vec<(Action, Vec<Instruction>)> {
    let target = match setting.arch {
        Arch::X86_64 => TargetArch::x86_64,
        Arch::Aarch64 => TargetArch::aarch64,
    };
    let actions = [Action::NoSuchFamily, Action::NoSuchProtocol, Action::NotPermitted, Action::NoSuchCall];
    actions
        .into_iter()
        .map(|action| {
            let matched = SeccompAction::Errno(bpf::answer(action) & 0xffff);
            let rules = oracle_rules(setting, action);
            let filter = SeccompFilter::new(rules, SeccompAction::Allow, matched, target).unwrap();
            let program: BpfProgram = filter.try_into().unwrap();
            let program = program.into_iter().map(|i| Instruction {
                code: i.code,
                jump_true: i.jt,
                jump_false: i.jf,
                operand: i.k,
            });
            (action, program.collect())
        })
        .collect()
}

fn oracle_rules(setting: Setting, action: Action) -> BTreeMap<i64, Vec<SeccompRule>> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    for call in CALLS {
        let Some(number) = call.number(setting.arch) else { continue };
        for rule in call.rules.iter().filter(|rule| rule.action == action && setting.includes(rule.when)) {
            let mut products: Vec<Vec<SeccompCondition>> = vec![Vec::new()];
            for condition in rule.conditions {
                let alternatives = alternatives(condition);
                products = products
                    .iter()
                    .flat_map(|head| {
                        alternatives.iter().map(move |tail| {
                            let mut whole = head.clone();
                            whole.push(tail.clone());
                            whole
                        })
                    })
                    .collect();
            }
            // An entry without rules matches whatever the arguments are.
            let entry = rules.entry(i64::from(number)).or_default();
            entry.extend(
                products
                    .into_iter()
                    .filter(|product| !product.is_empty())
                    .map(|p| SeccompRule::new(p).unwrap()),
            );
        }
    }
    rules
}

fn expected(oracle: &[(Action, Vec<Instruction>)], call: &Call) -> u32 {
    oracle
        .iter()
        .map(|(_, program)| interpret(program, call).0)
        .find(|answer| *answer != bpf::ALLOW)
        .unwrap_or(bpf::ALLOW)
}

/// Values at the edges of the table, with and without high bits.
fn argument() -> impl Strategy<Value = u64> {
    let interesting: Vec<u64> = CALLS
        .iter()
        .flat_map(|call| call.rules)
        .flat_map(|rule| rule.conditions)
        .flat_map(|condition| match condition.test {
            Test::Is(value) | Test::IsNot(value) => vec![value],
            Test::Masked(mask, value) => vec![value, value | !mask, mask],
            Test::Any(bits) => (0..32).map(|bit| bits & (1 << bit)).filter(|bit| *bit != 0).collect(),
        })
        .map(u64::from)
        .chain([0, 1, 0o644, 0o100, 0x8_0000])
        .collect();
    let pick = proptest::sample::select(interesting);
    (pick.clone(), pick, any::<u64>(), 0..6u8).prop_map(|(one, other, random, shape)| match shape {
        0 => one,
        1 => one | other,
        2 => one | (random << 32),
        3 => (one | other) | (random << 32),
        4 => one.wrapping_add(1),
        _ => random,
    })
}

#[test]
fn every_call_number_is_answered_as_seccompiler_answers() {
    for setting in settings() {
        let (ours, oracle) = (assemble(setting), oracle(setting));
        for number in 0..=1000 {
            for arguments in [[0; 6], [u64::MAX; 6], [2, 3, 0, 0, 0, 0], [16, 3, 9, 0, 0, 0]] {
                let call = Call { number, arch: audit(setting.arch), arguments };
                assert_eq!(interpret(&ours, &call).0, expected(&oracle, &call), "{setting:?} {call:?}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn every_argument_is_answered_as_seccompiler_answers(
        arguments in proptest::array::uniform6(argument()),
        which in 0usize..16,
    ) {
        let setting = settings()[which];
        let (ours, oracle) = (assemble(setting), oracle(setting));
        for number in CALLS.iter().filter_map(|call| call.number(setting.arch)) {
            let call = Call { number, arch: audit(setting.arch), arguments };
            prop_assert_eq!(interpret(&ours, &call).0, expected(&oracle, &call), "{:?} {:?}", setting, call);
        }
    }
}

#[test]
fn another_architecture_and_x32_kill_the_process() {
    let setting = DEFAULT;
    let program = assemble(setting);
    let arguments = [0; 6];
    for number in 0..=1000 {
        for arch in [0x4000_0003, 0xc000_00b7, 0] {
            assert_eq!(interpret(&program, &Call { number, arch, arguments }).0, bpf::KILL);
        }
        let x32 = Call { number: number | 0x4000_0000, arch: audit(Arch::X86_64), arguments };
        assert_eq!(interpret(&program, &x32).0, bpf::KILL);
    }
}

#[test]
fn comparisons_ignore_the_high_half() {
    let program = assemble(DEFAULT);
    let tiocsti = Call { number: 16, arch: audit(Arch::X86_64), arguments: [0, 0x1_0000_5412, 0, 0, 0, 0] };
    assert_eq!(interpret(&program, &tiocsti).0, bpf::answer(Action::NotPermitted));
}

#[test]
fn a_mode_without_a_file_to_create_is_not_looked_at() {
    let program = assemble(DEFAULT);
    let open =
        |flags, mode| Call { number: 257, arch: audit(Arch::X86_64), arguments: [0, 0, flags, mode, 0, 0] };
    assert_eq!(interpret(&program, &open(0, 0o4755)).0, bpf::ALLOW);
    assert_eq!(interpret(&program, &open(0o100, 0o4755)).0, bpf::answer(Action::NotPermitted));
    assert_eq!(interpret(&program, &open(0o20_200_000, 0o2755)).0, bpf::answer(Action::NotPermitted));
    assert_eq!(interpret(&program, &open(0o100, 0o644)).0, bpf::ALLOW);
}

#[test]
fn a_process_has_its_own_limits_only() {
    let exposed = Setting { isolation: Isolation::Filter, ..DEFAULT };
    let answer = |setting, number, first: u64, second: u64| {
        let call = Call { number, arch: audit(Arch::X86_64), arguments: [first, second, 1 << 32, 0, 0, 0] };
        interpret(&assemble(setting), &call).0
    };
    let denied = bpf::answer(Action::NotPermitted);
    for setting in [DEFAULT, exposed] {
        assert_eq!(answer(setting, 302, 0, 0), bpf::ALLOW);
        assert_eq!(answer(setting, 302, 1, 0), denied);
    }
    // setpriority(PRIO_PROCESS, 0), of another process, and of every process of the user.
    let priority = |first, second| answer(exposed, 141, first, second);
    assert_eq!([priority(0, 0), priority(0, 7), priority(2, 0)], [bpf::ALLOW, denied, denied]);
}

#[test]
fn no_call_takes_a_long_way() {
    for setting in settings() {
        let program = assemble(setting);
        assert!(program.len() < 260, "{} instructions", program.len());
        for number in 0..=1000 {
            let call = Call { number, arch: audit(setting.arch), arguments: [0; 6] };
            assert!(interpret(&program, &call).1 <= 30, "{setting:?} {number}");
        }
    }
}

#[test]
fn every_call_is_listed_once() {
    for arch in [Arch::X86_64, Arch::Aarch64] {
        let mut numbers: Vec<u32> = CALLS.iter().filter_map(|call| call.number(arch)).collect();
        let all = numbers.len();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), all);
    }
}

#[test]
fn a_record_is_eight_bytes_in_native_order() {
    let setting = DEFAULT;
    let bytes = program(setting);
    assert_eq!(bytes.len(), 8 * assemble(setting).len());
    assert_eq!(bytes[..2], bpf::LOAD.to_ne_bytes());
}

macro_rules! numbers { ($($name:ident),* $(,)?) => { &[$((stringify!($name), libc::$name)),*] } }

/// x86_64's own numbers, from libc.
#[cfg(target_arch = "x86_64")]
#[test]
fn numbers_are_those_of_libc() {
    let known: &[(&str, i64)] = numbers![
        SYS_prlimit64,
        SYS_renameat2,
        SYS_sched_setparam,
        SYS_sched_setscheduler,
        SYS_sched_setaffinity,
        SYS_sched_setattr,
        SYS_setpriority,
        SYS_ioprio_set,
        SYS_open,
        SYS_creat,
        SYS_openat,
        SYS_openat2,
        SYS_chmod,
        SYS_fchmod,
        SYS_fchmodat,
        SYS_fchmodat2,
        SYS_mkdir,
        SYS_mkdirat,
        SYS_mknod,
        SYS_mknodat,
        SYS_ioctl,
        SYS_socket,
        SYS_clone,
        SYS_clone3,
        SYS_unshare,
        SYS_setns,
        SYS_mount,
        SYS_umount2,
        SYS_pivot_root,
        SYS_chroot,
        SYS_open_tree,
        SYS_move_mount,
        SYS_fsopen,
        SYS_fsconfig,
        SYS_fsmount,
        SYS_fspick,
        SYS_mount_setattr,
        SYS_sethostname,
        SYS_setdomainname,
        SYS_bpf,
        SYS_perf_event_open,
        SYS_userfaultfd,
        SYS_io_uring_setup,
        SYS_io_uring_enter,
        SYS_io_uring_register,
        SYS_add_key,
        SYS_request_key,
        SYS_keyctl,
        SYS_kexec_load,
        SYS_kexec_file_load,
        SYS_init_module,
        SYS_finit_module,
        SYS_delete_module,
        SYS_open_by_handle_at,
        SYS_pidfd_getfd,
        SYS_syslog,
        SYS_acct,
        SYS_quotactl,
        SYS_quotactl_fd,
        SYS_swapon,
        SYS_swapoff,
        SYS_reboot,
        SYS_iopl,
        SYS_ioperm,
    ];
    // libc does not have these yet.
    let newer = ["open_tree_attr"];
    for call in CALLS.iter().filter(|call| !newer.contains(&call.name)) {
        let name = format!("SYS_{}", call.name);
        let (_, number) = known.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("{name}"));
        assert_eq!(call.x86_64.map(i64::from), Some(*number), "{name}");
    }
}
