"""Files that are there complete or not at all."""

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
except ImportError:  # Windows has no such locks: temporary files of dead writers stay there.
    fcntl = None  # type: ignore[assignment]  # a module elsewhere

#: What a path that is no regular file may be, for the error message.
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A binary stream that becomes `path` when the block ends well, and vanishes otherwise.

    A symbolic link is followed: the file that it names is replaced. The mode and, where allowed,
    the owner of a file that is there already are kept. Temporary files that killed writers of the
    same file have left are removed.

    Raises
    ------
    OSError
        If the path is something else than a regular file, or cannot be written.
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
            # Still locked: nobody takes the file for one that was left.
            os.replace(name, target)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name)
            raise


def _regular(target: Path) -> os.stat_result | None:
    """The state of the file that is there, None if there is none."""
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
    """The rights of the file before, or those that any new file would get."""
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
    """A lock that ends with the process, and says that the file is being written."""
    if fcntl is not None:
        fcntl.flock(handle, fcntl.LOCK_EX)


def _remove_left(folder: Path, prefix: str) -> None:
    """Remove temporary files of writers that are no more: nobody holds their locks."""
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
