//! Rules in front of a system-call filter: what a lying backend lets through, and what it refuses so that the lie stays
//! about one effect.

use confine_backends::seccomp::bpf::{ALLOW, Instruction, JUMP_EQUAL, LOAD, RETURN};
use confine_backends::seccomp::{CALLS, Call};
use confine_core::probe::Arch;

/// `SECCOMP_RET_ERRNO` with EPERM.
const REFUSE: u32 = 0x0005_0001;
/// In `struct seccomp_data`.
const NUMBER: u32 = 0;
const ARGUMENTS: u32 = 16;

/// A call, or those with this value in the low half of an argument.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// By its name in the table of calls, or its number on x86_64 where the table does not have it.
    pub call: Which,
    /// Which argument has which value; any where there is none.
    pub argument: Option<(u32, u32)>,
    /// Whether it passes.
    pub passes: bool,
}

/// See [`Rule::call`].
#[derive(Clone, Copy, Debug)]
pub enum Which {
    /// A row of the table.
    Named(&'static str),
    /// On x86_64 and on aarch64.
    Numbered(u32, u32),
}

impl Rule {
    fn number(self, arch: Arch) -> Option<u32> {
        match (self.call, arch) {
            (Which::Numbered(number, _), Arch::X86_64) | (Which::Numbered(_, number), Arch::Aarch64) => {
                Some(number)
            }
            (Which::Named(name), arch) => CALLS.iter().find(|call: &&Call| call.name == name)?.number(arch),
        }
    }

    fn instructions(self, arch: Arch) -> Vec<Instruction> {
        let Some(number) = self.number(arch) else { return Vec::new() };
        let of = |code, operand, jump_false| Instruction { code, jump_true: 0, jump_false, operand };
        let verdict = of(RETURN, if self.passes { ALLOW } else { REFUSE }, 0);
        match self.argument {
            None => vec![of(LOAD, NUMBER, 0), of(JUMP_EQUAL, number, 1), verdict],
            Some((argument, value)) => vec![
                of(LOAD, NUMBER, 0),
                of(JUMP_EQUAL, number, 3),
                of(LOAD, ARGUMENTS + 8 * argument, 0),
                of(JUMP_EQUAL, value, 1),
                verdict,
            ],
        }
    }
}

/// The filter with `rules` in front; its own jumps are relative, so they stay right.
pub(super) fn with(rules: &[Rule], arch: Arch, filter: &[u8]) -> Vec<u8> {
    let before = rules.iter().flat_map(|rule| rule.instructions(arch)).flat_map(Instruction::bytes);
    before.chain(filter.iter().copied()).collect()
}
