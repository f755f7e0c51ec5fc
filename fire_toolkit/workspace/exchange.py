"""Two folders change names in one step, where the system can do that."""

import ctypes
import errno
import os
import sys
from pathlib import Path

_SWAP = 2  # RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS
_HERE = -100  # AT_FDCWD: relative paths are of the current folder
_CANNOT = {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP}


def exchange(one: Path, other: Path) -> bool:
    """Give each of two paths what the other names, in one step; return False where that cannot be done.

    Linux and macOS can on most file systems; network file systems and Windows cannot.

    Raises:
        OSError: the system can, and did not: a path is not there or may not be written.
    """
    names = os.fsencode(one), os.fsencode(other)
    if sys.platform == "linux":
        call, arguments = "renameat2", (_HERE, names[0], _HERE, names[1], ctypes.c_uint(_SWAP))
    elif sys.platform == "darwin":
        call, arguments = "renamex_np", (*names, ctypes.c_uint(_SWAP))
    else:
        return False
    function = getattr(ctypes.CDLL(None, use_errno=True), call, None)
    if function is None:
        return False
    if function(*arguments) == 0:
        return True
    number = ctypes.get_errno()
    if number in _CANNOT:
        return False
    raise OSError(number, os.strerror(number), str(one))
