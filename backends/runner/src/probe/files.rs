//! Attempts at files: what is done inside, and what the world shows afterwards.
//!
//! Every path below is in the throwaway directory; each attempt has a place of its own in it, so that a grant of one
//! place lets through one attempt.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{
    FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, symlink,
};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use nix::fcntl::{Flock, FlockArg};
use nix::sys::stat::{Mode, SFlag, makedev, mknod};
use nix::unistd::{Uid, chown, truncate};

use super::ground::Ground;
use super::program;
use super::told::{Orders, Refusal, Told};

/// What the files hold before an attempt.
pub(super) const CONTENT: &str = "as it was\n";
/// The mode of files that an attempt may change.
pub(super) const MODE: u32 = 0o600;
const SETID: u32 = 0o6000;
/// Devices that no policy of the probe grants, and that nothing happens to by being opened.
const DEVICES: &[&str] = &[
    "/dev/fuse",
    "/dev/kmsg",
    "/dev/kvm",
    "/dev/loop-control",
    "/dev/loop0",
    "/dev/mem",
    "/dev/net/tun",
    "/dev/nvme0n1",
    "/dev/sda",
    "/dev/vda",
];
/// A user whom no sandbox of ours maps.
const STRANGER: u32 = 12_321;
/// How much of a file is looked at.
const SMALL: u64 = 4096;

fn small(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(SMALL).read_to_end(&mut bytes)?;
    Ok(bytes)
}

pub(super) fn read(orders: &Orders, told: &mut Told) {
    if let Some(bytes) = told.tried("read", small(&orders.at("unread/secret"))) {
        told.found(&bytes);
    }
}

/// Also for every other attempt that looks for something.
pub(super) fn found(ground: &Ground, told: &Told) -> Vec<String> {
    let secret = |found: &String| ground.is_secret(told.effect, found);
    if told.found.iter().any(secret) { told.done() } else { Vec::new() }
}

pub(super) fn hide(orders: &Orders, told: &mut Told) {
    if let Some(bytes) = told.tried("read", small(&orders.at("hidden/secret"))) {
        told.found(&bytes);
    }
    let listed = fs::read_dir(orders.at("hidden"))
        .map(|names| names.flatten().map(|one| one.file_name()).collect::<Vec<_>>());
    for name in told.tried("list", listed).unwrap_or_default() {
        told.found(name.as_encoded_bytes());
    }
    let size = fs::symlink_metadata(orders.at("hidden/secret")).map(|metadata| metadata.len());
    if let Some(size) = told.tried("stat", size) {
        told.found(format!("{size} bytes").as_bytes());
    }
}

pub(super) fn write(orders: &Orders, told: &mut Told) {
    let modify = || OpenOptions::new().append(true).open(orders.at("out/write/modify"))?.write_all(b"more");
    told.tried("create", File::create_new(orders.at("out/write/create")));
    told.tried("modify", modify());
    told.tried("delete", fs::remove_file(orders.at("out/write/delete")));
}

pub(super) fn written(ground: &Ground, _: &Told) -> Vec<String> {
    let at = |name: &str| ground.at("out/write").join(name);
    happened([
        ("create", at("create").exists()),
        ("modify", !is_as_it_was(&at("modify"))),
        ("delete", !at("delete").exists()),
    ])
}

fn happened<const N: usize>(acts: [(&str, bool); N]) -> Vec<String> {
    acts.into_iter().filter(|(_, happened)| *happened).map(|(act, _)| act.to_owned()).collect()
}

fn is_as_it_was(path: &Path) -> bool {
    fs::read(path).is_ok_and(|bytes| bytes == CONTENT.as_bytes())
}

/// Not by truncate(1), which opens the file for writing first.
pub(super) fn empty(orders: &Orders, told: &mut Told) {
    told.tried("truncate", truncate(&orders.at("out/truncate/truncate"), 0));
    told.tried("open", OpenOptions::new().write(true).truncate(true).open(orders.at("out/truncate/open")));
}

pub(super) fn emptied(ground: &Ground, _: &Told) -> Vec<String> {
    let at = |name: &str| ground.at("out/truncate").join(name);
    happened([("truncate", !is_as_it_was(&at("truncate"))), ("open", !is_as_it_was(&at("open")))])
}

pub(super) fn rename(orders: &Orders, told: &mut Told) {
    told.tried("take", fs::rename(orders.at("out/rename/take"), orders.at("ws/taken")));
    told.tried("link", fs::hard_link(orders.at("out/rename/link"), orders.at("ws/linked")));
    told.tried("move", fs::rename(orders.at("out/rename/move"), orders.at("out/rename/moved")));
}

pub(super) fn renamed(ground: &Ground, _: &Told) -> Vec<String> {
    let at = |name: &str| ground.at("out/rename").join(name);
    let links = fs::metadata(at("link")).map_or(1, |metadata| metadata.nlink());
    happened([("take", !at("take").exists()), ("link", links > 1), ("move", !at("move").exists())])
}

pub(super) fn change_metadata(orders: &Orders, told: &mut Told) {
    let at = |name: &str| orders.at("out/metadata").join(name);
    told.tried("mode", fs::set_permissions(at("mode"), Permissions::from_mode(0o640)));
    told.tried("times", change_times(&at("times")));
    let flags = rustix::fs::XattrFlags::empty();
    told.tried("attribute", rustix::fs::setxattr(at("attribute"), "user.confine", b"x", flags));
}

fn change_times(path: &Path) -> nix::Result<()> {
    let then = nix::sys::time::TimeSpec::new(1, 0);
    let flags = nix::sys::stat::UtimensatFlags::NoFollowSymlink;
    nix::sys::stat::utimensat(nix::fcntl::AT_FDCWD, path, &then, &then, flags)
}

pub(super) fn metadata_changed(ground: &Ground, _: &Told) -> Vec<String> {
    let at = |name: &str| ground.at("out/metadata").join(name);
    let mut value = [0; 8];
    let attribute = rustix::fs::getxattr(at("attribute"), "user.confine", &mut value[..]);
    happened([
        ("mode", mode(&at("mode")) != MODE),
        ("times", fs::metadata(at("times")).is_ok_and(|metadata| metadata.mtime() == 1)),
        ("attribute", attribute.is_ok()),
    ])
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).map_or(0, |metadata| metadata.mode() & 0o7777)
}

pub(super) fn set_id(orders: &Orders, told: &mut Told) {
    let at = |name: &str| orders.at("ws/setid").join(name);
    told.tried("user", fs::set_permissions(at("user"), Permissions::from_mode(0o4700)));
    told.tried("group", fs::set_permissions(at("group"), Permissions::from_mode(0o2710)));
    told.tried("create", OpenOptions::new().write(true).create_new(true).mode(0o4700).open(at("create")));
}

pub(super) fn id_set(ground: &Ground, _: &Told) -> Vec<String> {
    let is_setid = |name: &str| mode(&ground.at("ws/setid").join(name)) & SETID != 0;
    happened([("user", is_setid("user")), ("group", is_setid("group")), ("create", is_setid("create"))])
}

pub(super) fn carve(orders: &Orders, told: &mut Told) {
    let modify = || OpenOptions::new().append(true).open(orders.at("ws/carved/kept"))?.write_all(b"more");
    told.tried("modify", modify());
    told.tried("move the parent", fs::rename(orders.at("ws/carved"), orders.at("ws/moved")));
}

pub(super) fn carved(ground: &Ground, _: &Told) -> Vec<String> {
    let kept = ground.at("ws/carved/kept");
    let moved = !kept.exists();
    happened([("modify", !moved && !is_as_it_was(&kept)), ("move the parent", moved)])
}

/// A protected name of the built-in set that is not there.
const NEW: &str = "ws/.envrc";

pub(super) fn carve_new(orders: &Orders, told: &mut Told) {
    told.tried("create", File::create_new(orders.at(NEW)));
}

/// It is to be gone again by the end of the run.
pub(super) fn carved_new(ground: &Ground, _: &Told) -> Vec<String> {
    happened([("create", ground.at(NEW).exists())])
}

pub(super) fn open_device(orders: &Orders, told: &mut Told) {
    for device in DEVICES {
        let opened = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(device);
        if !opened.as_ref().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound) {
            told.tried(format!("open {device}"), opened);
        }
    }
    let make = |name: &str, device| mknod(&orders.at("ws").join(name), SFlag::S_IFCHR, Mode::S_IRUSR, device);
    told.tried("make a node", make("zero", makedev(1, 5)));
    // Anybody may make one since Linux 5.8.
    told.tried("make a whiteout", make("whiteout", 0));
}

pub(super) fn device_opened(ground: &Ground, told: &Told) -> Vec<String> {
    let is_node = |name: &str| {
        fs::symlink_metadata(ground.at("ws").join(name)).is_ok_and(|made| made.file_type().is_char_device())
    };
    let opened = told.done().into_iter().filter(|act| act.starts_with("open "));
    opened
        .chain(happened([("make a node", is_node("zero")), ("make a whiteout", is_node("whiteout"))]))
        .collect()
}

pub(super) fn link(orders: &Orders, told: &mut Told) {
    told.tried("link", symlink("/etc/passwd", orders.at("ws/planted")));
}

pub(super) fn linked(ground: &Ground, _: &Told) -> Vec<String> {
    let planted = fs::symlink_metadata(ground.at("ws/planted"));
    happened([("link", planted.is_ok_and(|planted| planted.is_symlink()))])
}

/// A script whose interpreter is the program that makes attempts: no shell is needed.
pub(super) fn execute(orders: &Orders, told: &mut Told) {
    let ended = Command::new(orders.at("out/execute/script")).status();
    let ran = ended.map_err(Refusal::from).and_then(|status| match status.code() {
        Some(code) if code == i32::from(program::EXECUTED) => Ok(()),
        _ => Err(Refusal::saying(status)),
    });
    told.tried("execute", ran);
}

/// What only the system's own answer shows.
pub(super) fn done(_: &Ground, told: &Told) -> Vec<String> {
    told.done()
}

pub(super) fn lock(orders: &Orders, told: &mut Told) {
    let held = File::open(orders.at("out/lock/file")).map_err(Refusal::from).and_then(|file| {
        Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|(_, errno)| errno.into())
    });
    told.tried("lock", held);
}

/// Whatever is open above 2: the spawner left a file open there.
pub(super) fn inherit(_: &Orders, told: &mut Told) {
    let open = fs::read_dir("/proc/self/fd");
    let numbers = open.map(|names| {
        names.flatten().filter_map(|one| one.file_name().to_str()?.parse::<i32>().ok()).collect::<Vec<_>>()
    });
    for number in told.tried("look", numbers).unwrap_or_default().into_iter().filter(|number| *number > 2) {
        let path = format!("/proc/self/fd/{number}");
        // A pipe of somebody else's would be waited for.
        let is_file = fs::metadata(&path).is_ok_and(|metadata| metadata.is_file());
        if let Some(bytes) = is_file.then(|| small(Path::new(&path))).and_then(Result::ok) {
            told.found(&bytes);
        }
    }
}

/// Through descriptor 2, which is a file of the host's.
pub(super) fn misuse(_: &Orders, told: &mut Told) {
    let stderr = std::io::stderr();
    told.tried("mode", nix::sys::stat::fchmod(&stderr, Mode::from_bits_truncate(0o640)));
    let file = rustix::io::dup(&stderr).map(File::from);
    let times = fs::FileTimes::new().set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1));
    match file {
        Ok(file) => {
            told.tried("times", file.set_times(times));
            let _ = file.as_raw_fd();
        }
        Err(errno) => {
            told.tried::<(), _>("times", Err(errno));
        }
    }
}

pub(super) fn misused(ground: &Ground, _: &Told) -> Vec<String> {
    let file = ground.stderr();
    let times = fs::metadata(&file).is_ok_and(|metadata| metadata.mtime() == 1);
    happened([("mode", mode(&file) != MODE), ("times", times)])
}

/// Root's reach over files of others: outside it may give a file away.
pub(super) fn give_away(orders: &Orders, told: &mut Told) {
    told.tried("give away", chown(&orders.at("ws/mapped"), Some(Uid::from_raw(STRANGER)), None));
}

pub(super) fn given_away(ground: &Ground, _: &Told) -> Vec<String> {
    let owner = fs::metadata(ground.at("ws/mapped")).map_or(0, |metadata| metadata.uid());
    happened([("give away", owner == STRANGER)])
}
