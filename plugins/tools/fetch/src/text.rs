//! Bytes as letters.

/// UTF-8, with a replacement character for what is none. Of a text that was cut, the half of a letter at the end is left
/// out.
pub(crate) fn utf8(bytes: &[u8], is_cut: bool) -> String {
    let whole = match str::from_utf8(bytes) {
        Err(error) if is_cut && error.error_len().is_none() => {
            bytes.get(..error.valid_up_to()).unwrap_or(bytes)
        }
        _ => bytes,
    };
    String::from_utf8_lossy(whole).into_owned()
}
