//! Loads a library and checks its table, without a byte read beyond what both sides know.

use std::os::fd::{AsRawFd as _, IntoRawFd as _, OwnedFd};
use std::{ptr, slice};

use confine_plugin_abi::table::{ABI, Bytes, EGRESS_SIZE_MIN, Egress, MANIFEST_MAX, SYMBOL};
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

/// Later majors that a refusal can name.
const LATER: std::ops::RangeInclusive<u32> = 2..=9;

/// A loaded plugin. It is never unloaded.
#[derive(Debug)]
pub(crate) struct Plugin {
    pub(super) table: Egress,
    manifest: Vec<u8>,
}

// SAFETY: the table is a copy and its functions are for any thread, each with a state of that thread's own; the manifest's
// bytes are a copy too.
unsafe impl Send for Plugin {}
// SAFETY: likewise; nothing changes it.
unsafe impl Sync for Plugin {}

/// Why a library is no plugin.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    /// dlopen(3) says.
    #[error("cannot load it: {0}")]
    Library(#[source] libloading::Error),
    /// No symbol of ours.
    #[error("it exports no `{SYMBOL}`")]
    Symbol,
    /// Another major.
    #[error(
        "it is for version {0} of the plugin interface (`CONFINE_EGRESS_V{0}`), and this confine has version {ABI}"
    )]
    Major(u32),
    /// A table that is none.
    #[error("`{SYMBOL}` is not where a table can be")]
    Place,
    /// A table that is too small.
    #[error("`{SYMBOL}` says that it has {0} bytes, and needs {EGRESS_SIZE_MIN}")]
    Size(usize),
    /// A table that contradicts its name.
    #[error(
        "`{SYMBOL}` says that it is for version {0} of the plugin interface, and this confine has version {ABI}"
    )]
    Abi(u32),
    /// A function that has to be there.
    #[error("`{SYMBOL}` has no `call`")]
    Call,
    /// No manifest, or too much of one.
    #[error("`{SYMBOL}` has a manifest of {0} bytes, and 1 to {MANIFEST_MAX} are right")]
    Manifest(usize),
}

impl Plugin {
    /// Loads the library in `file`, whose code runs from here on. The descriptor is never closed: the C library knows a
    /// loaded library by its path, and the next file of the same number would be taken for it.
    ///
    /// # Errors
    /// See [`Refusal`].
    pub(crate) fn load(file: OwnedFd) -> Result<Self, Refusal> {
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        let _ = file.into_raw_fd();
        let flags = RTLD_NOW | RTLD_LOCAL | libc::RTLD_NODELETE;
        // SAFETY: its constructors run, as code of a plugin that the user approved, in the sandbox made for it.
        let library = unsafe { Library::open(Some(path), flags) }.map_err(Refusal::Library)?;
        let found = address(&library, SYMBOL).ok_or_else(|| absent(&library));
        // Its code stays, whatever becomes of the handle.
        let _ = library.into_raw();
        let found = found?;
        if found.is_null() || !found.cast::<Egress>().is_aligned() {
            return Err(Refusal::Place);
        }
        // SAFETY: the symbol names an object of the library's; if that is no table of ours, the sandbox bounds the harm.
        let table = unsafe { copied(found) }?;
        // SAFETY: as the table says, these are bytes of the library's, which stays.
        let manifest = unsafe { manifest(table.manifest) }?;
        Ok(Self { table, manifest })
    }

    /// Its manifest, as it says at run time.
    pub(crate) fn manifest(&self) -> &[u8] {
        &self.manifest
    }

    /// The size of its table, in bytes, as the plugin knows it.
    pub(crate) fn size(&self) -> u64 {
        u64::try_from(self.table.size).unwrap_or(u64::MAX)
    }
}

fn address(library: &Library, symbol: &str) -> Option<*const u8> {
    // SAFETY: the address is only compared and read from, as bytes of a table.
    unsafe { library.get::<*const u8>(symbol.as_bytes()) }.ok().map(|found| *found)
}

fn absent(library: &Library) -> Refusal {
    let later =
        LATER.into_iter().find(|major| address(library, &format!("CONFINE_EGRESS_V{major}")).is_some());
    later.map_or(Refusal::Symbol, Refusal::Major)
}

/// What both sides know of the table; the rest is not there.
///
/// # Safety
/// `found` is aligned, and names an object that begins with its size in bytes.
unsafe fn copied(found: *const u8) -> Result<Egress, Refusal> {
    // SAFETY: the caller's promise.
    let size = unsafe { found.cast::<usize>().read() };
    if size < EGRESS_SIZE_MIN {
        return Err(Refusal::Size(size));
    }
    let mut table = Egress { size, abi: 0, manifest: Bytes::EMPTY, open: None, call: None, close: None };
    let shared = size.min(size_of::<Egress>());
    // SAFETY: both are at least `shared` bytes long, and every bit pattern of a function pointer that is not null is taken
    // for one, since the plugin says so.
    unsafe { ptr::copy_nonoverlapping(found, (&raw mut table).cast::<u8>(), shared) };
    if table.abi != ABI {
        return Err(Refusal::Abi(table.abi));
    }
    if table.call.is_none() {
        return Err(Refusal::Call);
    }
    Ok(table)
}

/// # Safety
/// `bytes` names bytes of the library's.
unsafe fn manifest(bytes: Bytes) -> Result<Vec<u8>, Refusal> {
    if bytes.ptr.is_null() || bytes.len == 0 || bytes.len > MANIFEST_MAX {
        return Err(Refusal::Manifest(bytes.len));
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { slice::from_raw_parts(bytes.ptr, bytes.len) }.to_vec())
}
