//! Error numbers as tools print them: by name, by number, by text.
//!
//! Texts are strerror(3)'s and gai_strerror(3)'s in the C locale, of glibc and, where it differs, of musl and libuv; they
//! are compared without case, since Go and Node print them in lower case. Of the commonest, glibc's words in other
//! languages are here too. Numbers are those of Linux.

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

/// What glibc says in other languages: German, French, Spanish, Italian, Portuguese, Russian, Japanese, Chinese, Korean.
const ABROAD: &[(&str, &[&str])] = &[
    (
        "EPERM",
        &[
            "Die Operation ist nicht erlaubt",
            "Opération non permise",
            "Operación no permitida",
            "Operazione non permessa",
            "Operação não permitida",
            "Операция не позволена",
            "許可されていない操作です",
            "不允许的操作",
            "명령을 허용하지 않음",
        ],
    ),
    (
        "ENOENT",
        &[
            "Datei oder Verzeichnis nicht gefunden",
            "Aucun fichier ou dossier de ce type",
            "No existe el fichero o el directorio",
            "File o directory non esistente",
            "Arquivo ou diretório inexistente",
            "Нет такого файла или каталога",
            "そのようなファイルやディレクトリはありません",
            "没有那个文件或目录",
            "그런 파일이나 디렉터리가 없습니다",
        ],
    ),
    (
        "EACCES",
        &[
            "Keine Berechtigung",
            "Permission non accordée",
            "Permiso denegado",
            "Permesso negato",
            "Permissão negada",
            "Отказано в доступе",
            "許可がありません",
            "权限不够",
            "허가 거부",
        ],
    ),
    (
        "EROFS",
        &[
            "Das Dateisystem ist nur lesbar",
            "Système de fichiers accessible en lecture seulement",
            "Sistema de ficheros de sólo lectura",
            "File system in sola lettura",
            "Sistema de arquivos somente para leitura",
            "Файловая система доступна только для чтения",
            "読み込み専用ファイルシステムです",
            "只读文件系统",
            "읽기전용 파일 시스템",
        ],
    ),
];

impl Errno {
    /// Each text, in every language.
    pub(super) fn all_texts(&self) -> impl Iterator<Item = &'static str> {
        let abroad = ABROAD.iter().filter(|(name, _)| *name == self.name).flat_map(|(_, texts)| *texts);
        self.texts.iter().chain(abroad).copied()
    }
}

/// The names and texts of errors that are mostly a refusal.
pub(crate) fn refusals() -> impl Iterator<Item = &'static str> {
    let refused = ALL.iter().filter(|errno| matches!(errno.name, "EPERM" | "EACCES" | "EROFS"));
    refused.flat_map(|errno| std::iter::once(errno.name).chain(errno.all_texts()))
}

/// By its name, exactly.
pub(super) fn by_name(name: &[u8]) -> Option<&'static Errno> {
    ALL.iter().find(|errno| errno.name.as_bytes() == name)
}

/// By its number on Linux, in decimal.
pub(super) fn by_number(number: &[u8]) -> Option<&'static Errno> {
    let number: i32 = std::str::from_utf8(number).ok()?.parse().ok()?;
    ALL.iter().find(|errno| errno.number == Some(number))
}

/// By one of its texts, in any language, without case.
pub(super) fn by_text(text: &[u8]) -> Option<&'static Errno> {
    ALL.iter().find(|errno| errno.all_texts().any(|one| one.as_bytes().eq_ignore_ascii_case(text)))
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
            for text in errno.all_texts() {
                assert_eq!(by_text(text.to_ascii_uppercase().as_bytes()).unwrap().name, errno.name);
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
