//! The filter as a classic BPF program: the architecture, then a binary search over ranges of call numbers.
//!
//! Attaching costs by the length of the path that each call number takes (the kernel runs the filter for every one to
//! find those it always allows), so a search tree attaches in a third of the time of a chain, and it is the numbers that
//! are halved, not the ranges. Built from the end: every
//! jump goes forward, so its target exists already when it is made.

use confine_core::probe::Arch;

use super::Setting;
use super::table::{Action, CALLS, Call, Condition, Rule, Test};

/// `struct sock_filter`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// The operation.
    pub code: u16,
    /// How many instructions a true comparison skips.
    pub jump_true: u8,
    /// Likewise for a false one.
    pub jump_false: u8,
    /// The operand.
    pub operand: u32,
}

impl Instruction {
    /// As the kernel reads it.
    pub fn bytes(self) -> [u8; 8] {
        let [a, b] = self.code.to_ne_bytes();
        let [w, x, y, z] = self.operand.to_ne_bytes();
        [a, b, self.jump_true, self.jump_false, w, x, y, z]
    }
}

/// BPF_LD | BPF_W | BPF_ABS: a field of `struct seccomp_data`.
pub const LOAD: u16 = 0x20;
/// BPF_JMP | BPF_JA.
pub const JUMP: u16 = 0x05;
/// BPF_JMP | BPF_JEQ | BPF_K.
pub const JUMP_EQUAL: u16 = 0x15;
/// BPF_JMP | BPF_JGE | BPF_K.
pub const JUMP_AT_LEAST: u16 = 0x35;
/// BPF_JMP | BPF_JSET | BPF_K.
pub const JUMP_ANY: u16 = 0x45;
/// BPF_ALU | BPF_AND | BPF_K.
pub const AND: u16 = 0x54;
/// BPF_RET | BPF_K.
pub const RETURN: u16 = 0x06;

/// SECCOMP_RET_ALLOW.
pub const ALLOW: u32 = 0x7fff_0000;
/// SECCOMP_RET_KILL_PROCESS: SIGSYS.
pub const KILL: u32 = 0x8000_0000;
const ERRNO: u32 = 0x0005_0000;

const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const ARGUMENTS: u32 = 16;
/// Calls of the x32 ABI come with the architecture of x86_64 and this bit.
const X32: u32 = 0x4000_0000;

/// What the filter returns for an action.
pub const fn answer(action: Action) -> u32 {
    ERRNO
        | match action {
            Action::NotPermitted => 1,
            Action::NoSuchCall => 38,
            Action::NoSuchFamily => 97,
            Action::NoSuchProtocol => 93,
        }
}

const fn audit_architecture(arch: Arch) -> u32 {
    match arch {
        Arch::X86_64 => 0xc000_003e,
        Arch::Aarch64 => 0xc000_00b7,
    }
}

/// The program, first instruction first.
pub fn assemble(setting: Setting) -> Vec<Instruction> {
    let mut assembly = Assembly::default();
    let kill = assembly.give(KILL);
    let returns = Returns::new(&mut assembly);
    let mut leaves: Vec<(u32, Label)> = Vec::new();
    for call in CALLS {
        let Some(number) = call.number(setting.arch) else { continue };
        let rules: Vec<Rule> = rules(call, setting);
        if !rules.is_empty() {
            leaves.push((number, assembly.leaf(&rules, &returns)));
        }
    }
    leaves.sort_unstable();
    let mut ranges = ranges(&leaves, returns.allow);
    if setting.arch == Arch::X86_64 {
        ranges.push((X32, kill));
    }
    let search = assembly.search(&ranges, known(&leaves));
    assembly.go(search);
    assembly.load(NUMBER);
    let body = assembly.here();
    assembly.branch(JUMP_EQUAL, audit_architecture(setting.arch), body, kill);
    assembly.load(ARCHITECTURE);
    assembly.finish()
}

/// Where each answer begins, in order: what is not a leaf is allowed, and neighbours with one answer are one range.
fn ranges(leaves: &[(u32, Label)], allow: Label) -> Vec<(u32, Label)> {
    let edges = leaves.iter().flat_map(|(number, leaf)| [(*number, *leaf), (number + 1, allow)]);
    let mut ranges: Vec<(u32, Label)> = vec![(0, allow)];
    for (start, label) in edges {
        // An empty range gives way to the one that begins at the same number.
        ranges.pop_if(|(last, _)| *last == start);
        if ranges.last().is_none_or(|(_, last)| *last != label) {
            ranges.push((start, label));
        }
    }
    ranges
}

/// Beyond all call numbers: a kernel newer than the table has a few more.
fn known(leaves: &[(u32, Label)]) -> u32 {
    leaves.last().map_or(1, |(number, _)| number + 16)
}

fn rules(call: &Call, setting: Setting) -> Vec<Rule> {
    call.rules.iter().copied().filter(|rule| setting.includes(rule.when)).collect()
}

/// An instruction, by its distance from the end.
type Label = usize;

/// A conditional jump skips at most 255 instructions; the rest is room for the trampolines.
const NEAR: usize = 250;

/// One return for each answer.
struct Returns {
    allow: Label,
    not_permitted: Label,
    no_such_call: Label,
    no_such_family: Label,
    no_such_protocol: Label,
}

impl Returns {
    fn new(assembly: &mut Assembly) -> Self {
        Self {
            no_such_protocol: assembly.give(answer(Action::NoSuchProtocol)),
            no_such_family: assembly.give(answer(Action::NoSuchFamily)),
            no_such_call: assembly.give(answer(Action::NoSuchCall)),
            not_permitted: assembly.give(answer(Action::NotPermitted)),
            allow: assembly.give(ALLOW),
        }
    }

    const fn of(&self, action: Action) -> Label {
        match action {
            Action::NotPermitted => self.not_permitted,
            Action::NoSuchCall => self.no_such_call,
            Action::NoSuchFamily => self.no_such_family,
            Action::NoSuchProtocol => self.no_such_protocol,
        }
    }
}

#[derive(Default)]
struct Assembly {
    reversed: Vec<Instruction>,
}

impl Assembly {
    fn here(&self) -> Label {
        self.reversed.len()
    }

    fn push(&mut self, code: u16, jump_true: u8, jump_false: u8, operand: u32) -> Label {
        self.reversed.push(Instruction { code, jump_true, jump_false, operand });
        self.here()
    }

    fn give(&mut self, value: u32) -> Label {
        self.push(RETURN, 0, 0, value)
    }

    fn load(&mut self, offset: u32) -> Label {
        self.push(LOAD, 0, 0, offset)
    }

    /// A label within reach of a conditional jump that leads to `label`.
    fn near(&mut self, label: Label) -> Label {
        let distance = self.here() - label;
        if distance <= NEAR {
            return label;
        }
        self.push(JUMP, 0, 0, u32::try_from(distance).unwrap_or(u32::MAX))
    }

    fn branch(&mut self, code: u16, operand: u32, then: Label, otherwise: Label) -> Label {
        let [then, otherwise] = [then, otherwise].map(|label| self.near(label));
        let [then, otherwise] = [then, otherwise].map(|label| self.here() - label);
        self.push(code, distance(then), distance(otherwise), operand)
    }

    /// Answers what `rules` say; without a match, allows.
    fn leaf(&mut self, rules: &[Rule], returns: &Returns) -> Label {
        rules
            .iter()
            .rev()
            .fold(returns.allow, |next, rule| self.conditions(rule.conditions, returns.of(rule.action), next))
    }

    fn conditions(&mut self, conditions: &[Condition], then: Label, otherwise: Label) -> Label {
        conditions.iter().rev().fold(then, |then, condition| self.condition(*condition, then, otherwise))
    }

    fn condition(&mut self, condition: Condition, then: Label, otherwise: Label) -> Label {
        match condition.test {
            Test::Is(value) => self.branch(JUMP_EQUAL, value, then, otherwise),
            Test::IsNot(value) => self.branch(JUMP_EQUAL, value, otherwise, then),
            Test::Any(bits) => self.branch(JUMP_ANY, bits, then, otherwise),
            Test::Masked(mask, value) => {
                self.branch(JUMP_EQUAL, value, then, otherwise);
                self.push(AND, 0, 0, mask)
            }
        };
        // The low half comes first on the little-endian machines that confine knows.
        self.load(ARGUMENTS + 8 * u32::from(condition.argument))
    }

    /// By halves of the call numbers below `end`, not of the ranges: so most numbers have a short way.
    fn search(&mut self, ranges: &[(u32, Label)], end: u32) -> Label {
        let Some(((first, _), others @ [_, ..])) = ranges.split_first() else {
            return ranges.first().map_or(self.here(), |(_, label)| *label);
        };
        let middle = first + end.saturating_sub(*first) / 2;
        let before = others.partition_point(|(start, _)| *start < middle).min(others.len() - 1);
        let (low, high) = ranges.split_at(before + 1);
        let pivot = high.first().map_or(end, |(start, _)| *start);
        let high = self.search(high, end);
        let low = self.search(low, pivot);
        self.branch(JUMP_AT_LEAST, pivot, high, low)
    }

    /// To `label`, where that is not the next instruction.
    fn go(&mut self, label: Label) {
        let distance = self.here() - label;
        if distance > 0 {
            self.push(JUMP, 0, 0, u32::try_from(distance).unwrap_or(u32::MAX));
        }
    }

    fn finish(mut self) -> Vec<Instruction> {
        self.reversed.reverse();
        self.reversed
    }
}

fn distance(distance: usize) -> u8 {
    u8::try_from(distance).unwrap_or(u8::MAX)
}
