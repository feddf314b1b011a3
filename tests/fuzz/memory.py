"""Peak memory of a call."""

import resource
from pathlib import Path

_SELF = Path("/proc/self")
#: Written to `clear_refs`, it sets the peak to the present memory: see proc(5).
_RESET_PEAK = "5"
#: Bytes of address space that a call may add, lest a bomb takes the whole machine.
_ROOM = 4 * 2**30


def grown(call):
    """What a call returns, and by how many bytes the process grew in it at its peak.

    Only Linux resets the peak of a process; elsewhere 0 bytes are returned.
    """
    if not (_SELF / "clear_refs").exists():
        return call(), 0
    (_SELF / "clear_refs").write_text(_RESET_PEAK)
    before = _status("VmRSS")
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (_status("VmSize") + _ROOM, limits[1]))
    try:
        found = call()
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)
    return found, max(0, _status("VmHWM") - before)


def _status(name):
    """A size in bytes from the process's status."""
    lines = (_SELF / "status").read_text().splitlines()
    return 1024 * int(next(line.split()[1] for line in lines if line.startswith(f"{name}:")))
