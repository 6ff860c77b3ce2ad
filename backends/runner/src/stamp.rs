//! A run's identity and its start.

use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

/// Crockford's base 32.
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/// Characters of an id.
const LENGTH: u32 = 26;
/// Random bits below the time.
const RANDOM_BITS: u32 = 80;

/// An id that sorts by time, and the time as reports have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// A ULID: 48 bits of milliseconds, 80 random ones (all zero where the kernel gives none).
    pub(crate) run: String,
    /// RFC 3339 in UTC with milliseconds.
    pub(crate) started: String,
}

impl Stamp {
    /// Of a run that starts now.
    pub(crate) fn now() -> Self {
        let now = SystemTime::now();
        let mut random = [0; 16];
        // The id names a run for people and files; nothing trusts that it cannot be guessed.
        let _ = getrandom::fill(&mut random);
        Self {
            run: ulid(now, u128::from_le_bytes(random)),
            started: humantime::format_rfc3339_millis(now).to_string(),
        }
    }
}

/// An id that sorts by time and that nobody guesses: a ULID.
///
/// # Errors
/// Where the kernel gives no random numbers.
pub(crate) fn fresh() -> io::Result<String> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    Ok(ulid(SystemTime::now(), u128::from_le_bytes(random)))
}

fn ulid(time: SystemTime, random: u128) -> String {
    let millis = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
    let random = random & ((1 << RANDOM_BITS) - 1);
    let value = (millis << RANDOM_BITS) | random;
    (0..LENGTH).rev().map(|place| digit(value >> (place * 5))).collect()
}

fn digit(value: u128) -> char {
    let place = usize::try_from(value & 31).unwrap_or(0);
    ALPHABET.get(place).map_or('0', |byte| char::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Duration;

    #[test]
    fn a_known_ulid() {
        let time = UNIX_EPOCH + Duration::from_millis(1_469_918_176_385);
        assert!(ulid(time, 0).starts_with("01ARYZ6S41"));
        assert_eq!(ulid(UNIX_EPOCH, u128::MAX), "0000000000ZZZZZZZZZZZZZZZZ");
    }

    #[test]
    fn two_runs_differ_and_the_time_is_utc() {
        let stamp = Stamp::now();
        assert_ne!(stamp.run, Stamp::now().run);
        assert!(stamp.started.ends_with('Z') && stamp.started.len() == "2026-01-01T00:00:00.000Z".len());
    }

    proptest! {
        #[test]
        fn ids_sort_by_time(early in 0_u64..1 << 47, later in 1_u64..1 << 40, one: u128, two: u128) {
            let at = |millis| UNIX_EPOCH + Duration::from_millis(millis);
            let (one, two) = (ulid(at(early), one), ulid(at(early + later), two));
            prop_assert!(one < two);
            prop_assert_eq!(one.len(), 26);
        }
    }
}
