"""One block, one file: header, payload, checksum.

    0   16  b"kvedit block 1\\n\\0"
    16  32  SHA-256 of the file's name, relative to the store
    48   8  bytes of payload, little-endian
    56   …  payload
    …   32  BLAKE2b (32 bytes) of everything before it

A file that is not exactly that is not there: older formats, other names, torn writes, flipped bits.
Written under a name of its own and renamed, so that any number of engines may share a folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import shutil
import stat
import struct
from typing import TYPE_CHECKING

from .._folders import UNFINISHED, make_private, write_whole

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Payload = npt.NDArray[np.uint8]

_HEADER = struct.Struct("<16s32sQ")
_MAGIC = b"kvedit block 1\n\0"
_DIGEST = 32
OVERHEAD = _HEADER.size + _DIGEST
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK  # never hangs on a pipe


class BlockFiles:
    """The files below one folder. Any thread."""

    def __init__(self, root: str) -> None:
        self.root = os.path.abspath(root)

    def path(self, name: str) -> str:
        return os.path.join(self.root, name)

    def has(self, name: str, nbytes: int) -> bool:
        """Whether the file is there with the header and the size that it should have."""
        try:
            file = os.open(self.path(name), _FLAGS)
        except OSError:
            return False
        try:
            return self._opens(file, name, nbytes)
        except OSError:
            return False
        finally:
            os.close(file)

    def read(self, name: str, into: Payload) -> bool:
        """Fills ``into`` with the payload. False when there is no such file, or not such a file:
        then ``into`` may have any bytes, and a file with wrong ones is removed, unless another has
        taken its place."""
        try:
            file = os.open(self.path(name), _FLAGS)
        except OSError:
            return False
        try:
            if self._opens(file, name, into.nbytes) and self._fills(file, name, into):
                return True
            self._remove(name, file)
        except OSError:
            pass
        finally:
            os.close(file)
        return False

    def write(self, name: str, payload: Payload) -> None:
        """Raises ``OSError``; then nothing is left behind."""
        path = self.path(name)
        header = self._header(name, payload.nbytes)
        pieces = header, payload.data, _checksum(header, payload)
        try:
            write_whole(path, pieces)
        except FileNotFoundError:
            make_private(os.path.dirname(path))
            write_whole(path, pieces)

    def remove_all(self, folder: str) -> None:
        """Of what is below it, and the folder above it when nothing else is there, as much as can
        be removed."""
        path = self.path(folder)
        shutil.rmtree(path, ignore_errors=True)
        with contextlib.suppress(OSError):
            os.rmdir(os.path.dirname(path))

    def _remove(self, name: str, file: int) -> None:
        """The open file and no other: an engine may just have put a good one in its place, before
        its name is looked at or after. Raises ``OSError`` where it stays, a miss as before."""
        wrong, path = os.fstat(file), self.path(name)
        if stat.S_ISDIR(wrong.st_mode) or not os.path.samestat(os.lstat(path), wrong):
            return
        aside = os.path.join(os.path.dirname(path), UNFINISHED + secrets.token_hex(8))
        os.rename(path, aside)
        if os.path.samestat(os.lstat(aside), wrong):
            os.unlink(aside)
        else:
            os.rename(aside, path)  # what may be there by now is the same block

    def _header(self, name: str, nbytes: int) -> bytes:
        return _HEADER.pack(_MAGIC, hashlib.sha256(name.encode()).digest(), nbytes)

    def _opens(self, file: int, name: str, nbytes: int) -> bool:
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode) or status.st_size != OVERHEAD + nbytes:
            return False
        return os.pread(file, _HEADER.size, 0) == self._header(name, nbytes)

    def _fills(self, file: int, name: str, into: Payload) -> bool:
        rest = into.data
        at = _HEADER.size
        while len(rest):
            count = os.preadv(file, [rest], at)
            if count == 0:
                return False  # cut off while being read
            rest, at = rest[count:], at + count
        return os.pread(file, _DIGEST, at) == _checksum(self._header(name, into.nbytes), into)


def _checksum(header: bytes, payload: Payload) -> bytes:
    digest = hashlib.blake2b(header, digest_size=_DIGEST)
    digest.update(payload.data)
    return digest.digest()
