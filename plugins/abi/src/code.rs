//! What functions on both sides return.

use std::fmt;

/// Why a function did not do what it is for; as an `i32` one of the negative numbers of the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// `CONFINE_PANICKED`, -1: the plugin's own code failed in a way that it did not foresee.
    Panicked,
    /// `CONFINE_BAD_INPUT`, -2: what was passed is not what the manifest or the header asks for.
    BadInput,
    /// `CONFINE_FAILED`, -3: it was tried and did not work.
    Failed,
    /// `CONFINE_DENIED`, -4: not declared, not allowed, or not approved.
    Denied,
    /// `CONFINE_CANCELLED`, -5: the host wants the call to end.
    Cancelled,
}

/// `CONFINE_OK`.
pub const OK: i32 = 0;

const NUMBERS: [(Code, i32); 5] = [
    (Code::Panicked, -1),
    (Code::BadInput, -2),
    (Code::Failed, -3),
    (Code::Denied, -4),
    (Code::Cancelled, -5),
];

impl Code {
    /// The number of the header.
    pub fn number(self) -> i32 {
        NUMBERS.iter().find(|(code, _)| *code == self).map_or(-3, |(_, number)| *number)
    }

    /// What a returned number says.
    ///
    /// # Errors
    /// The code; a number that is none counts as [`Code::Failed`].
    pub fn check(number: i32) -> Result<(), Self> {
        if number == OK { Ok(()) } else { Err(Self::known(number).unwrap_or(Self::Failed)) }
    }

    /// The code of this number; `None` for [`OK`] and for numbers that the header does not have.
    pub fn known(number: i32) -> Option<Self> {
        NUMBERS.iter().find(|(_, known)| *known == number).map(|(code, _)| *code)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Panicked => "panicked",
            Self::BadInput => "bad input",
            Self::Failed => "failed",
            Self::Denied => "denied",
            Self::Cancelled => "cancelled",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_number_and_every_other_number_is_a_failure() {
        for (code, number) in NUMBERS {
            assert_eq!(
                (code.number(), Code::known(number), Code::check(number)),
                (number, Some(code), Err(code))
            );
        }
        assert_eq!(Code::check(OK), Ok(()));
        for number in [1, -6, i32::MIN, i32::MAX] {
            assert_eq!((Code::known(number), Code::check(number)), (None, Err(Code::Failed)));
        }
    }
}
