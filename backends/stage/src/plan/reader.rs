//! How words are read as a plan: strictly, so that one plan has one text.

use std::ffi::{OsStr, OsString};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::{Bound, Plan, PlanError, Resource, Role, Rule, Ruleset, TerminalSize};

/// The plan so far, and the words still to come.
pub(super) struct Reader<I> {
    pub(super) words: I,
    pub(super) plan: Plan,
}

impl<I: Iterator<Item = OsString>> Reader<I> {
    pub(super) fn new(words: I) -> Self {
        Self { words, plan: Plan::default() }
    }

    /// Reads the values of the option `name`.
    pub(super) fn option(&mut self, name: &OsStr) -> Result<(), PlanError> {
        match name.as_encoded_bytes() {
            b"--role" => self.role(),
            b"--cwd" => self.cwd(),
            b"--control" => {
                let fd = self.parsed("--control", descriptor)?;
                once("--control", &mut self.plan.control, fd)
            }
            b"--await-word" if !self.plan.await_word => {
                self.plan.await_word = true;
                Ok(())
            }
            b"--await-word" => Err(PlanError::Misplaced("--await-word")),
            b"--stderr" => {
                let fd = self.parsed("--stderr", descriptor)?;
                once("--stderr", &mut self.plan.stderr, fd)
            }
            b"--landlock" => self.landlock(),
            b"--rule" => self.rule(),
            b"--stdio-access" => {
                let access = self.parsed("--stdio-access", bits)?;
                once("--stdio-access", &mut self.plan.stdio_access, access)
            }
            b"--seccomp" => self.seccomp(),
            b"--rlimit" => self.rlimit(),
            b"--scratch" => self.scratch(),
            b"--tty" => self.tty(),
            b"--masked" => {
                let path = self.value("--masked")?;
                self.plan.masked.push(path);
                Ok(())
            }
            b"--bound" => self.bound(),
            b"--writable" => {
                let path = self.value("--writable")?;
                self.plan.writable.push(path);
                Ok(())
            }
            _ => Err(PlanError::Unknown(name.to_string_lossy().into_owned())),
        }
    }

    fn value(&mut self, option: &'static str) -> Result<OsString, PlanError> {
        self.words.next().ok_or(PlanError::Lacking(option))
    }

    fn parsed<T>(&mut self, option: &'static str, parse: fn(&str) -> Option<T>) -> Result<T, PlanError> {
        let value = self.value(option)?;
        value.to_str().and_then(parse).ok_or_else(|| malformed(option, &value))
    }

    fn role(&mut self) -> Result<(), PlanError> {
        let role = self.parsed("--role", |word| (word == "supervisor").then_some(Role::Supervisor))?;
        if self.plan.role == role {
            return Err(PlanError::Misplaced("--role"));
        }
        self.plan.role = role;
        Ok(())
    }

    fn cwd(&mut self) -> Result<(), PlanError> {
        let path = self.value("--cwd")?;
        if path.is_empty() {
            return Err(malformed("--cwd", &path));
        }
        if !self.plan.cwd.is_empty() {
            return Err(PlanError::Misplaced("--cwd"));
        }
        self.plan.cwd = path;
        Ok(())
    }

    fn landlock(&mut self) -> Result<(), PlanError> {
        let ruleset = Ruleset {
            handled_fs: self.parsed("--landlock", bits)?,
            handled_net: self.parsed("--landlock", bits)?,
            scoped: self.parsed("--landlock", bits)?,
            rules: Vec::new(),
        };
        once("--landlock", &mut self.plan.landlock, ruleset)
    }

    fn rule(&mut self) -> Result<(), PlanError> {
        let rule = Rule { access: self.parsed("--rule", bits)?, path: self.value("--rule")? };
        let ruleset = self.plan.landlock.as_mut().ok_or(PlanError::Misplaced("--rule"))?;
        ruleset.rules.push(rule);
        Ok(())
    }

    fn seccomp(&mut self) -> Result<(), PlanError> {
        let program =
            self.parsed("--seccomp", |word| STANDARD.decode(word).ok().filter(|bytes| !bytes.is_empty()))?;
        if !self.plan.seccomp.is_empty() {
            return Err(PlanError::Misplaced("--seccomp"));
        }
        self.plan.seccomp = program;
        Ok(())
    }

    fn rlimit(&mut self) -> Result<(), PlanError> {
        let resource = self.parsed("--rlimit", |word| {
            Resource::WORDS.iter().find(|(_, name)| *name == word).map(|(resource, _)| *resource)
        })?;
        let value = self.parsed("--rlimit", decimal)?;
        self.plan.rlimits.push((resource, value));
        Ok(())
    }

    fn bound(&mut self) -> Result<(), PlanError> {
        let (device, inode) = (self.parsed("--bound", decimal)?, self.parsed("--bound", decimal)?);
        let path = self.value("--bound")?;
        self.plan.bound.push(Bound { device, inode, path });
        Ok(())
    }

    fn scratch(&mut self) -> Result<(), PlanError> {
        let rule = Rule { access: self.parsed("--scratch", bits)?, path: self.value("--scratch")? };
        once("--scratch", &mut self.plan.scratch, rule)
    }

    fn tty(&mut self) -> Result<(), PlanError> {
        let size =
            TerminalSize { rows: self.parsed("--tty", decimal)?, columns: self.parsed("--tty", decimal)? };
        once("--tty", &mut self.plan.tty, size)
    }
}

fn once<T>(option: &'static str, field: &mut Option<T>, value: T) -> Result<(), PlanError> {
    if field.is_some() {
        return Err(PlanError::Misplaced(option));
    }
    *field = Some(value);
    Ok(())
}

pub(super) fn malformed(option: &'static str, value: &OsStr) -> PlanError {
    PlanError::Malformed { option, value: value.to_string_lossy().into_owned() }
}

/// As [`hexadecimal`](super::words::hexadecimal) writes it, and no other way.
fn bits(word: &str) -> Option<u64> {
    let digits = word.strip_prefix("0x")?;
    let plain = digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if !plain || (digits.len() > 1 && digits.starts_with('0')) {
        return None;
    }
    u64::from_str_radix(digits, 16).ok()
}

/// Decimal digits without a sign or a leading zero.
fn decimal<T: std::str::FromStr>(word: &str) -> Option<T> {
    let plain = word.bytes().all(|byte| byte.is_ascii_digit());
    if !plain || (word.len() > 1 && word.starts_with('0')) {
        return None;
    }
    word.parse().ok()
}

/// A descriptor's number; one above 2, since 0 to 2 are the program's.
pub(crate) fn descriptor(word: &str) -> Option<i32> {
    decimal(word).filter(|fd| *fd > 2)
}
