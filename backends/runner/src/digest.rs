//! SHA-256 of what is read, as 64 hexadecimal digits.

use std::fmt::Write as _;
use std::io::{self, Read};

use sha2::{Digest as _, Sha256};

/// Of everything that is left in `file`.
///
/// # Errors
/// As read(2).
pub(crate) fn of_file(mut file: impl Read) -> io::Result<String> {
    let mut hash = Sha256::new();
    let mut buffer = [0; 64 * 1024];
    loop {
        let count = file.read(&mut buffer)?;
        match buffer.get(..count) {
            Some([]) | None => return Ok(hexadecimal(&hash.finalize())),
            Some(part) => hash.update(part),
        }
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
