//! Error numbers as tools print them: by name, by number, by text.
//!
//! Texts are strerror(3)'s and gai_strerror(3)'s in the C locale, of glibc and, where it differs, of musl and libuv; they
//! are compared without case, since Go and Node print them in lower case. Numbers are those of Linux.

/// One error number.
#[derive(Debug)]
pub(super) struct Errno {
    /// Its name.
    pub(super) name: &'static str,
    /// Its number on Linux; `None` where tools do not print one.
    pub(super) number: Option<i32>,
    /// Its texts.
    pub(super) texts: &'static [&'static str],
}

const fn errno(name: &'static str, number: i32, texts: &'static [&'static str]) -> Errno {
    Errno { name, number: Some(number), texts }
}

const fn unnumbered(name: &'static str, texts: &'static [&'static str]) -> Errno {
    Errno { name, number: None, texts }
}

/// Those that a refusal can show as.
pub(super) const ALL: &[Errno] = &[
    errno("EPERM", 1, &["Operation not permitted"]),
    errno("ENOENT", 2, &["No such file or directory", "Directory nonexistent", "No such file"]),
    errno("ESRCH", 3, &["No such process"]),
    errno("ENXIO", 6, &["No such device or address"]),
    errno("EAGAIN", 11, &["Resource temporarily unavailable"]),
    errno("ENOMEM", 12, &["Cannot allocate memory"]),
    errno("EACCES", 13, &["Permission denied"]),
    errno("EBUSY", 16, &["Device or resource busy", "Resource busy or locked", "Resource busy"]),
    errno(
        "EXDEV",
        18,
        &["Invalid cross-device link", "cross-device link not permitted", "Cross-device link"],
    ),
    errno("EINVAL", 22, &["Invalid argument"]),
    errno("EMFILE", 24, &["Too many open files", "No file descriptors available"]),
    errno("EFBIG", 27, &["File too large"]),
    errno("ENOSPC", 28, &["No space left on device"]),
    errno("EROFS", 30, &["Read-only file system"]),
    errno("ENOSYS", 38, &["Function not implemented"]),
    errno("EAFNOSUPPORT", 97, &["Address family not supported by protocol"]),
    errno("EADDRNOTAVAIL", 99, &["Cannot assign requested address", "Address not available"]),
    errno("ENETUNREACH", 101, &["Network is unreachable", "Network unreachable"]),
    errno("ECONNREFUSED", 111, &["Connection refused"]),
    errno("EHOSTUNREACH", 113, &["No route to host", "Host is unreachable"]),
    errno("EAI_AGAIN", -3, &["Temporary failure in name resolution"]),
    errno("EAI_NONAME", -2, &["Name or service not known", "Name does not resolve"]),
    unnumbered("ENOTFOUND", &[]),
    unnumbered(
        "WSAEACCES",
        &["An attempt was made to access a socket in a way forbidden by its access permissions"],
    ),
    unnumbered("ERROR_ACCESS_DENIED", &["Access is denied", "Access to the path"]),
];

/// By its name, exactly.
pub(super) fn by_name(name: &[u8]) -> Option<&'static Errno> {
    ALL.iter().find(|errno| errno.name.as_bytes() == name)
}

/// By its number on Linux, in decimal.
pub(super) fn by_number(number: &[u8]) -> Option<&'static Errno> {
    let number: i32 = std::str::from_utf8(number).ok()?.parse().ok()?;
    ALL.iter().find(|errno| errno.number == Some(number))
}

/// By one of its texts, without case.
pub(super) fn by_text(text: &[u8]) -> Option<&'static Errno> {
    ALL.iter().find(|errno| errno.texts.iter().any(|one| one.as_bytes().eq_ignore_ascii_case(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_numbers_and_texts_are_unique() {
        let names: std::collections::BTreeSet<_> = ALL.iter().map(|errno| errno.name).collect();
        let numbers: std::collections::BTreeSet<_> = ALL.iter().filter_map(|errno| errno.number).collect();
        assert_eq!(names.len(), ALL.len());
        assert_eq!(numbers.len(), ALL.iter().filter(|errno| errno.number.is_some()).count());
        for errno in ALL {
            for text in errno.texts {
                assert_eq!(by_text(text.to_uppercase().as_bytes()).unwrap().name, errno.name);
            }
        }
    }

    #[test]
    fn numbers_are_those_that_the_kernel_gives() {
        for errno in ALL.iter().filter(|errno| errno.number.is_some_and(|number| number > 0)) {
            let said = std::io::Error::from_raw_os_error(errno.number.unwrap()).to_string();
            assert!(errno.texts.iter().any(|text| said.starts_with(text)), "{}: {said}", errno.name);
        }
    }
}
