"""Write files atomically: complete or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import tempfile
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # Windows has no such locks: temporary files of killed processes remain.
    fcntl = None  # type: ignore[assignment]  # None says that the module is missing

#: Kinds of paths that are not regular files, for the error message.
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A binary stream that replaces `path` if the block succeeds, and is discarded otherwise.

    Symbolic links are followed. The mode and, if allowed, the owner of an existing file are kept.
    Temporary files that killed processes left for the same path are removed.

    Raises
    ------
    OSError
        If the path is not a regular file, or cannot be written.
    """
    target = Path(os.path.realpath(path))
    before = _regular(target)
    prefix = f".{blake2b(target.name.encode(), digest_size=6).hexdigest()}.kernalign."
    _remove_left(target.parent, prefix)
    handle, name = tempfile.mkstemp(prefix=prefix, dir=target.parent)
    with os.fdopen(handle, "wb") as stream:
        try:
            _lock(handle)
            yield stream
            stream.flush()
            os.fsync(handle)
            _same_rights(name, before)
            if fcntl is None:
                stream.close()
            # The file is still locked, so that it is not removed as a leftover.
            os.replace(name, target)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name)
            raise


def _regular(target: Path) -> os.stat_result | None:
    """The status of the existing file, or None."""
    try:
        found = os.stat(target)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        what = next((word for test, word in _KINDS if test(found.st_mode)), "no regular file")
        reason = f"it is {what}, and only regular files are written"
        raise OSError(errno.EINVAL, reason, str(target))
    return found


def _same_rights(name: str, before: os.stat_result | None) -> None:
    """Set the permissions of the previous file, or those of a new one."""
    if before is not None:
        if hasattr(os, "chown"):
            with contextlib.suppress(PermissionError):
                os.chown(name, before.st_uid, before.st_gid)
        os.chmod(name, stat.S_IMODE(before.st_mode))
        return
    mask = os.umask(0)
    os.umask(mask)
    os.chmod(name, 0o666 & ~mask)


def _lock(handle: int) -> None:
    """Lock the file while it is being written; the lock ends with the process."""
    if fcntl is not None:
        fcntl.flock(handle, fcntl.LOCK_EX)


def _remove_left(folder: Path, prefix: str) -> None:
    """Remove temporary files that are not locked: their processes have ended."""
    if fcntl is None:
        return
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder):
            if not entry.name.startswith(prefix) or not entry.is_file(follow_symlinks=False):
                continue
            with contextlib.suppress(OSError):
                handle = os.open(entry.path, os.O_RDONLY | os.O_NOFOLLOW)
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    os.unlink(entry.path)
                finally:
                    os.close(handle)
