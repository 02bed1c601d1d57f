//! The steps that make a root folder, taken by a new process in namespaces of its own: only system calls on what `root`
//! prepared, no allocation and no lock.

use super::{
    birth::{Progress, give_birth},
    descriptors,
    entry::{check, hand_over, write_maps},
    namespaces::Maps,
    root::{Part, STAGING, StagedMount},
};
use std::{
    ffi::CStr,
    io,
    os::{
        fd::{AsRawFd as _, OwnedFd, RawFd},
        unix::net::UnixStream,
    },
};

/// Mounts are copied with everything mounted below them: the kernel lets nobody look below a mount it was not given.
const COPY: libc::c_uint =
    libc::OPEN_TREE_CLONE | libc::OPEN_TREE_CLOEXEC | libc::AT_RECURSIVE as libc::c_uint;

/// No descriptor.
const NONE: RawFd = -1;

/// Puts a part together at the place for that.
pub(super) fn stage(part: &Part, progress: &Progress) -> io::Result<()> {
    progress.at("copy the view of processes");
    // Before anything is mounted over it.
    let has_processes = part.mounts.iter().any(StagedMount::is_of_processes);
    let processes = if has_processes { copy(STAGING, 0)? } else { NONE };
    if !part.is_single {
        progress.at("mount an empty root");
        let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
        mount(Some(c"tmpfs"), STAGING, Some(c"tmpfs"), flags, Some(c"mode=755,size=1m"))?;
        progress.at("make folders in the root");
        part.folders.iter().try_for_each(|folder| make_folder(folder))?;
        part.files.iter().try_for_each(|file| make_file(file))?;
        part.links.iter().try_for_each(|(target, at)| make_link(target, at))?;
    }
    progress.at("mount into the root");
    part.mounts.iter().try_for_each(|mount| put(mount, processes))?;
    if !part.is_single {
        progress.at("make the root read-only");
        set_attributes(libc::AT_FDCWD, STAGING, 0, libc::MOUNT_ATTR_RDONLY)?;
    }
    Ok(())
}

/// Makes what was staged the root, and lets nothing of the old one stay.
pub(super) fn become_root(progress: &Progress) -> io::Result<()> {
    progress.at("change the root");
    change_to(STAGING)?;
    pivot()?;
    progress.at("unmount the old root");
    unmount(c".")?;
    change_to(c"/")
}

/// A view of processes in the staged root that shows only its own. Where the machine does not allow one, as in some
/// containers, there is none.
pub(super) fn mount_processes(progress: &Progress) -> io::Result<bool> {
    progress.at("mount a view of processes");
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    match mount(Some(c"proc"), c"/proc/proc", Some(c"proc"), flags, None) {
        Ok(()) => Ok(true),
        Err(error) if matches!(error.raw_os_error(), Some(libc::EPERM | libc::EBUSY)) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Makes parts of a root that somebody else can mount, in namespaces that end with this call.
pub(super) fn detach(parts: &[Part], maps: &Maps) -> io::Result<Vec<OwnedFd>> {
    if parts.is_empty() {
        return Ok(Vec::new());
    }
    let (ours, theirs) = UnixStream::pair()?;
    let socket = theirs.as_raw_fd();
    run_in_namespaces(libc::CLONE_NEWUSER | libc::CLONE_NEWNS, &|progress| {
        progress.at("map the user");
        write_maps(maps)?;
        for part in parts {
            stage(part, progress)?;
            progress.at("take the root");
            let tree = copy(STAGING, 0)?;
            hand_over(socket, descriptors::MOUNT, Some(tree))?;
            unmount(STAGING)?;
        }
        Ok(())
    })?;
    drop(theirs);
    parts.iter().map(|_| descriptors::receive_mount(&ours)).collect()
}

/// Lets a process in new namespaces take steps and end.
pub(super) fn run_in_namespaces(
    namespaces: libc::c_int,
    steps: &dyn Fn(&Progress) -> io::Result<()>,
) -> io::Result<()> {
    /// Nothing is executed: the error that ends the process says that it got to the end.
    const DONE: i32 = libc::ECANCELED;
    let done = |error: &io::Error| error.raw_os_error() == Some(DONE);
    let born = give_birth(namespaces, &|progress| match steps(progress) {
        Ok(()) => {
            progress.at("");
            io::Error::from_raw_os_error(DONE)
        }
        Err(error) => error,
    });
    match born {
        Err(error) if done(&error) => Ok(()),
        Err(error) => Err(error),
        Ok(_) => Err(io::Error::other("a process that ends cannot have become a program")),
    }
}

/// Copies a mount, looks whether it is the one that was judged, narrows it and puts it in its place.
fn put(mount: &StagedMount, processes: RawFd) -> io::Result<()> {
    let tree = match mount.is_of_processes() {
        true => processes,
        false => copy(&mount.source, libc::AT_SYMLINK_NOFOLLOW as libc::c_uint)?,
    };
    if identity(tree)? != mount.identity {
        return Err(io::Error::from_raw_os_error(libc::ESTALE));
    }
    set_attributes(tree, c"", libc::AT_EMPTY_PATH | libc::AT_RECURSIVE, mount.attributes)?;
    attach(tree, &mount.at)?;
    close(tree)
}

#[expect(unsafe_code, reason = "the call has no safe form")]
fn copy(path: &CStr, flags: libc::c_uint) -> io::Result<RawFd> {
    // SAFETY: the path is a text that outlives the call.
    let answer = unsafe { libc::syscall(libc::SYS_open_tree, libc::AT_FDCWD, path.as_ptr(), COPY | flags) };
    RawFd::try_from(answer).ok().filter(|tree| *tree >= 0).ok_or_else(io::Error::last_os_error)
}

#[expect(unsafe_code, reason = "the safe form takes an owner of the number")]
fn identity(descriptor: RawFd) -> io::Result<(u64, u64)> {
    // SAFETY: the kernel fills one structure of that type.
    let (answer, status) = unsafe {
        let mut status: libc::stat = std::mem::zeroed();
        (libc::fstat(descriptor, &raw mut status), status)
    };
    check(answer)?;
    Ok((status.st_dev, status.st_ino))
}

#[expect(unsafe_code, reason = "the call has no safe form")]
fn set_attributes(folder: RawFd, path: &CStr, flags: libc::c_int, attributes: u64) -> io::Result<()> {
    let wish = libc::mount_attr { attr_set: attributes, attr_clr: 0, propagation: 0, userns_fd: 0 };
    let size = size_of::<libc::mount_attr>();
    // SAFETY: the path is a text and the wish a structure of that size, which both outlive the call.
    let answer = unsafe {
        libc::syscall(libc::SYS_mount_setattr, folder, path.as_ptr(), flags, &raw const wish, size)
    };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[expect(unsafe_code, reason = "the call has no safe form")]
fn attach(tree: RawFd, at: &CStr) -> io::Result<()> {
    let flags = libc::MOVE_MOUNT_F_EMPTY_PATH;
    // SAFETY: both paths are texts that outlive the call.
    let answer = unsafe {
        libc::syscall(libc::SYS_move_mount, tree, c"".as_ptr(), libc::AT_FDCWD, at.as_ptr(), flags)
    };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[expect(unsafe_code, reason = "the call has no safe form")]
fn mount(
    source: Option<&CStr>,
    target: &CStr,
    kind: Option<&CStr>,
    flags: libc::c_ulong,
    data: Option<&CStr>,
) -> io::Result<()> {
    let pointer = |text: Option<&CStr>| text.map_or(std::ptr::null(), CStr::as_ptr);
    // SAFETY: every pointer is null or a text that outlives the call.
    check(unsafe {
        libc::mount(pointer(source), target.as_ptr(), pointer(kind), flags, pointer(data).cast())
    })
}

#[expect(unsafe_code, reason = "the call has no safe form")]
fn unmount(path: &CStr) -> io::Result<()> {
    // SAFETY: the path is a text that outlives the call.
    check(unsafe { libc::umount2(path.as_ptr(), libc::MNT_DETACH) })
}

/// The old root lies over the new one afterwards, where it can be unmounted.
#[expect(unsafe_code, reason = "the call has no safe form")]
fn pivot() -> io::Result<()> {
    // SAFETY: both paths are constants.
    let answer = unsafe { libc::syscall(libc::SYS_pivot_root, c".".as_ptr(), c".".as_ptr()) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[expect(unsafe_code, reason = "the safe form may allocate")]
pub(super) fn change_to(folder: &CStr) -> io::Result<()> {
    // SAFETY: the path is a text that outlives the call.
    check(unsafe { libc::chdir(folder.as_ptr()) })
}

#[expect(unsafe_code, reason = "the safe form may allocate")]
fn make_folder(path: &CStr) -> io::Result<()> {
    // SAFETY: the path is a text that outlives the call.
    check(unsafe { libc::mkdir(path.as_ptr(), 0o755) })
}

#[expect(unsafe_code, reason = "the safe form may allocate")]
fn make_file(path: &CStr) -> io::Result<()> {
    let flags = libc::O_CREAT | libc::O_EXCL | libc::O_WRONLY | libc::O_CLOEXEC;
    // SAFETY: the path is a text that outlives the call.
    let file = unsafe { libc::open(path.as_ptr(), flags, 0o444 as libc::c_uint) };
    check(file)?;
    close(file)
}

#[expect(unsafe_code, reason = "the safe form may allocate")]
fn make_link(target: &CStr, at: &CStr) -> io::Result<()> {
    // SAFETY: both are texts that outlive the call.
    check(unsafe { libc::symlink(target.as_ptr(), at.as_ptr()) })
}

#[expect(unsafe_code, reason = "the safe form takes an owner of the number")]
fn close(descriptor: RawFd) -> io::Result<()> {
    // SAFETY: the number is of a descriptor that was opened here.
    check(unsafe { libc::close(descriptor) })
}
