//! What a shared object says of itself, read from its bytes. No code of it runs.
//!
//! What the loader acts on is read from the program headers, as the loader does; the manifest and the symbols, which only
//! we look at, from the sections.

use object::LittleEndian;
use object::elf::{self, FileHeader64};
use object::read::StringTable;
use object::read::elf::{Dyn as _, FileHeader as _, ProgramHeader as _, SectionHeader as _, Sym as _};

/// Where a plugin keeps its manifest.
pub const SECTION: &str = ".confine.manifest";

/// Libraries of the system that a plugin may need, by the names that the loader looks for.
const ALLOWED: &[&str] = &[
    "libc.so.6",
    "libm.so.6",
    "libdl.so.2",
    "libpthread.so.0",
    "librt.so.1",
    "libgcc_s.so.1",
    "libstdc++.so.6",
    "ld-linux-x86-64.so.2",
    "ld-linux-aarch64.so.1",
];

/// What makes the loader look elsewhere, or load more than `NEEDED` says (ld.so(8), elf.h).
const STEERING: &[(i64, &str)] = &[
    (elf::DT_RPATH, "RPATH"),
    (elf::DT_RUNPATH, "RUNPATH"),
    (elf::DT_AUDIT, "AUDIT"),
    (elf::DT_DEPAUDIT, "DEPAUDIT"),
    (elf::DT_AUXILIARY, "AUXILIARY"),
    (elf::DT_FILTER, "FILTER"),
    (elf::DT_CONFIG, "CONFIG"),
];

/// What a plugin that only fetches has no use for. A plugin may still find them at run time, or make the call itself:
/// this is for a clear error before anything runs, and what stops them is the sandbox of the helper.
const NETWORKING: &[&str] = &[
    "socket",
    "connect",
    "bind",
    "listen",
    "accept",
    "accept4",
    "sendto",
    "sendmsg",
    "sendmmsg",
    "recvfrom",
    "getaddrinfo",
    "gethostbyname",
    "gethostbyname_r",
    "gethostbyname2",
    "res_query",
    "execve",
    "execv",
    "execvp",
    "execvpe",
    "fexecve",
    "posix_spawn",
    "posix_spawnp",
    "system",
    "popen",
    "fork",
    "vfork",
    "clone",
    "dlopen",
    "dlmopen",
];

const MACHINE: u16 = if cfg!(target_arch = "aarch64") { elf::EM_AARCH64 } else { elf::EM_X86_64 };

/// What is wrong with a file that is to be a plugin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ElfError {
    /// No ELF file, or one whose tables lead nowhere.
    #[error("it is no shared object: {0}")]
    Malformed(String),
    /// For another kind of machine.
    #[error("it is not for this machine: {0}")]
    Machine(&'static str),
    /// It steers the loader.
    #[error("it has {0}, which makes the loader look elsewhere")]
    Steers(&'static str),
    /// It needs a library that is not the system's own.
    #[error("it needs the library `{0}`, which no plugin may")]
    Needs(String),
    /// It has no manifest, or more than one.
    #[error("it has {0} sections `{SECTION}` where one holds the manifest")]
    Manifest(usize),
}

impl From<object::read::Error> for ElfError {
    fn from(error: object::read::Error) -> Self {
        Self::Malformed(error.to_string())
    }
}

/// A shared object that may be loaded, as far as its bytes tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object<'a> {
    /// The bytes of its manifest.
    pub manifest: &'a [u8],
    /// Functions that it imports and that reach the network or other programs, in the order of its table.
    pub reaching: Vec<&'static str>,
}

type Header = FileHeader64<LittleEndian>;

impl<'a> Object<'a> {
    /// # Errors
    /// Another machine, a steered loader, a library that is not allowed, no manifest, anything that cannot be read.
    pub fn read(bytes: &'a [u8]) -> Result<Self, ElfError> {
        let header = header(bytes)?;
        let endian = header.endian()?;
        for segment in header.program_headers(endian, bytes)? {
            if let Some(dynamic) = segment.dynamic(endian, bytes)? {
                check_dynamic(header, endian, bytes, dynamic)?;
            }
        }
        let sections = header.sections(endian, bytes)?;
        let named = |section: &&_| sections.section_name(endian, section) == Ok(SECTION.as_bytes());
        let found: Vec<_> = sections.iter().filter(named).collect();
        let [section] = found.as_slice() else { return Err(ElfError::Manifest(found.len())) };
        let manifest = section.data(endian, bytes)?;
        let symbols = sections.symbols(endian, bytes, elf::SHT_DYNSYM)?;
        let imported = symbols.iter().filter(|symbol| symbol.st_shndx(endian) == elf::SHN_UNDEF);
        let names = imported.filter_map(|symbol| symbols.symbol_name(endian, symbol).ok());
        let reaching = names.filter_map(known).collect();
        Ok(Self { manifest, reaching })
    }
}

fn known(name: &[u8]) -> Option<&'static str> {
    NETWORKING.iter().copied().find(|known| known.as_bytes() == name)
}

fn header(bytes: &[u8]) -> Result<&Header, ElfError> {
    match object::FileKind::parse(bytes)? {
        object::FileKind::Elf64 => {}
        object::FileKind::Elf32 => return Err(ElfError::Machine("it is of 32 bits")),
        _ => return Err(ElfError::Malformed("another format".into())),
    }
    let header = elf::FileHeader64::<LittleEndian>::parse(bytes)
        .map_err(|_| ElfError::Machine("it is big-endian, or of another version"))?;
    let endian = header.endian().map_err(|_| ElfError::Machine("it is big-endian"))?;
    if header.e_machine(endian) != MACHINE {
        return Err(ElfError::Machine("it is of another architecture"));
    }
    if header.e_type(endian) != elf::ET_DYN {
        return Err(ElfError::Malformed("another kind of ELF file".into()));
    }
    Ok(header)
}

fn check_dynamic(
    header: &Header,
    endian: LittleEndian,
    bytes: &[u8],
    dynamic: &[elf::Dyn64<LittleEndian>],
) -> Result<(), ElfError> {
    let entries = || dynamic.iter().take_while(|entry| entry.tag(endian) != elf::DT_NULL);
    for entry in entries() {
        if let Some((_, name)) = STEERING.iter().find(|(tag, _)| *tag == entry.tag(endian)) {
            return Err(ElfError::Steers(name));
        }
    }
    let last = |tag| entries().filter(|entry| entry.tag(endian) == tag).last().map(|entry| entry.val(endian));
    let (Some(address), Some(size)) = (last(elf::DT_STRTAB), last(elf::DT_STRSZ)) else {
        return Err(ElfError::Malformed("it has no names".into()));
    };
    let names = StringTable::new(loaded(header, endian, bytes, address, size)?, 0, size);
    for entry in entries().filter(|entry| entry.tag(endian) == elf::DT_NEEDED) {
        let needed = entry.string(endian, names)?;
        if !ALLOWED.iter().any(|allowed| allowed.as_bytes() == needed) {
            return Err(ElfError::Needs(String::from_utf8_lossy(needed).into_owned()));
        }
    }
    Ok(())
}

/// The bytes that will be at an address.
fn loaded<'a>(
    header: &Header,
    endian: LittleEndian,
    bytes: &'a [u8],
    address: u64,
    size: u64,
) -> Result<&'a [u8], ElfError> {
    let segments = header.program_headers(endian, bytes)?.iter();
    let mut loads = segments.filter(|segment| segment.p_type(endian) == elf::PT_LOAD);
    let found = loads.find_map(|segment| segment.data_range(endian, bytes, address, size).ok().flatten());
    found.ok_or_else(|| ElfError::Malformed("its names lie outside of it".into()))
}
