//! The rights of Landlock, by kernel ABI (Documentation/userspace-api/landlock.rst).

/// Execute a file.
pub const EXECUTE: u64 = 1;
/// Open a file for writing.
pub const WRITE_FILE: u64 = 1 << 1;
/// Open a file for reading.
pub const READ_FILE: u64 = 1 << 2;
/// List a directory.
pub const READ_DIR: u64 = 1 << 3;
/// Remove or rename a directory.
pub const REMOVE_DIR: u64 = 1 << 4;
/// Remove or rename a file.
pub const REMOVE_FILE: u64 = 1 << 5;
/// Make a character device. Never granted.
pub const MAKE_CHAR: u64 = 1 << 6;
/// Make a directory.
pub const MAKE_DIR: u64 = 1 << 7;
/// Make a regular file.
pub const MAKE_REG: u64 = 1 << 8;
/// Bind a pathname socket.
pub const MAKE_SOCK: u64 = 1 << 9;
/// Make a FIFO.
pub const MAKE_FIFO: u64 = 1 << 10;
/// Make a block device. Never granted.
pub const MAKE_BLOCK: u64 = 1 << 11;
/// Make a symbolic link.
pub const MAKE_SYM: u64 = 1 << 12;
/// Rename or link across directories. ABI 2; below it every such call is refused.
pub const REFER: u64 = 1 << 13;
/// Truncate. ABI 3; below it nothing governs it.
pub const TRUNCATE: u64 = 1 << 14;
/// ioctl(2) on a device. ABI 5; below it nothing governs it.
pub const IOCTL_DEV: u64 = 1 << 15;
/// Connect to a pathname socket that was bound outside the domain. ABI 9; below it nothing governs it.
pub const RESOLVE_UNIX: u64 = 1 << 16;

/// Rights that may stand in a rule on something that is no directory; others are EINVAL there.
pub const FILE: u64 = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV | RESOLVE_UNIX;

/// Read and execute, below a directory.
pub const READ: u64 = EXECUTE | READ_FILE | READ_DIR;
/// Read, execute, create, change, delete, below a directory; no device nodes, no ioctl on devices, no foreign sockets.
pub const WRITE: u64 = READ
    | WRITE_FILE
    | TRUNCATE
    | REMOVE_DIR
    | REMOVE_FILE
    | MAKE_DIR
    | MAKE_REG
    | MAKE_SOCK
    | MAKE_FIFO
    | MAKE_SYM
    | REFER;
/// Read, write and control a device or a terminal.
pub const DEVICE: u64 = READ_FILE | WRITE_FILE | TRUNCATE | IOCTL_DEV;
/// Connect to a socket.
pub const SOCKET: u64 = READ_FILE | WRITE_FILE | RESOLVE_UNIX;

/// Bind and connect TCP. ABI 4.
pub const NET_TCP: u64 = 0b11;
/// Abstract sockets and signals outside the domain. ABI 6.
pub const SCOPES: u64 = 0b11;

/// The lowest ABI that is worth using: without TRUNCATE, truncate(2) empties a read-only file.
pub const FLOOR: u32 = 3;
/// The ABI that governs TCP.
pub const NET: u32 = 4;
/// The ABI that governs ioctl(2) on devices.
pub const IOCTL: u32 = 5;
/// The ABI that has scopes.
pub const SCOPED: u32 = 6;
/// The ABI that governs pathname sockets.
pub const UNIX: u32 = 9;

/// Every file right that a kernel with this ABI knows. An unknown one would be EINVAL.
pub const fn known(abi: u32) -> u64 {
    match abi {
        0 => 0,
        1 => (1 << 13) - 1,
        2 => (1 << 14) - 1,
        3..=4 => (1 << 15) - 1,
        5..=8 => (1 << 16) - 1,
        _ => (1 << 17) - 1,
    }
}
