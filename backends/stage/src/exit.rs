//! The stage's exit codes: the projection that a spawner without a control socket gets.

/// The stage failed; the program never ran.
pub const FAILED: u8 = 125;

/// The program was found and could not be executed.
pub const NOT_EXECUTABLE: u8 = 126;

/// The program was not found.
pub const NOT_FOUND: u8 = 127;

/// The code of an execve(2) that failed.
pub const fn of_lookup(found: bool) -> u8 {
    if found { NOT_EXECUTABLE } else { NOT_FOUND }
}

/// The code of a raw wait status: the program's own, or 128 and the signal.
pub fn of_status(status: i32) -> u8 {
    let code = match status & 0x7f {
        0 => (status >> 8) & 0xff,
        signal => 128 + signal,
    };
    u8::try_from(code).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::of_status;

    #[test]
    fn a_status_is_its_code_or_128_and_its_signal() {
        assert_eq!([0x0, 0x100, 0xff00, 0x8900].map(of_status), [0, 1, 255, 137]);
        assert_eq!([0x9, 0xf, 0x86, 31 | 0x80].map(of_status), [137, 143, 134, 159]);
    }
}
