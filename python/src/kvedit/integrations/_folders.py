"""Folders and files of connectors: a file is there whole or not at all, and what is to be private
is made so from the first."""

from __future__ import annotations

import errno
import os
import tempfile
from typing import TYPE_CHECKING

from .._errors import Error

if TYPE_CHECKING:
    from collections.abc import Iterable

UNFINISHED = ".writing-"
"""What files begin with that are not under their own name yet, or not any more."""


def make_private(folder: str) -> None:
    """Makes the folder, and all that are missing above it, for their owner only. Those that are
    there stay as they are."""
    try:
        _make(folder)
    except FileNotFoundError:
        above = os.path.dirname(folder)
        if not os.path.isdir(above):  # else others have made it by now, or none can be made in it
            make_private(above)
        _make(folder)


def _make(folder: str) -> None:
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        if not os.path.isdir(folder):
            raise


def write_whole(path: str, pieces: Iterable[bytes | memoryview], mode: int = 0o600) -> None:
    """Puts the file in the place of what is there, an empty folder too. Raises ``OSError``; then
    nothing is left behind."""
    file, temporary = tempfile.mkstemp(prefix=UNFINISHED, dir=os.path.dirname(path))
    try:
        try:
            for piece in pieces:
                _write_all(file, piece)
            os.fchmod(file, mode)
        finally:
            os.close(file)
        _put(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _write_all(file: int, piece: bytes | memoryview) -> None:
    rest = memoryview(piece)
    while len(rest):
        rest = rest[os.write(file, rest) :]


def _put(temporary: str, path: str) -> None:
    try:
        os.replace(temporary, path)
    except IsADirectoryError:
        try:
            os.rmdir(path)
        except OSError:
            raise IsADirectoryError(
                errno.EISDIR, "A folder that is not empty is in the file's place; remove it", path
            ) from None
        os.replace(temporary, path)


def check_usable(option: str, folder: str, *, writes: bool) -> None:
    """Makes the folder where it is missing, and tries at once what is to be done in it. Raises
    `kvedit.Error` that names the option. A full disk is no reason: that passes."""
    try:
        doing = "made"
        make_private(folder)
        doing = "read"
        with os.scandir(folder) as entries:
            next(entries, None)
        if writes:
            doing = "written"
            file, temporary = tempfile.mkstemp(prefix=UNFINISHED, dir=folder)
            os.close(file)
            os.unlink(temporary)
    except (FileExistsError, NotADirectoryError) as error:
        raise Error(
            f"{option}: {folder} is no folder and none can be made there ({error.strerror}): a "
            "file has the name, or lies above it; give a folder, or one that is not there yet",
            option,
        ) from None
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return
        allowed = "write to, or kv_role kv_consumer where nothing is to be stored"
        raise Error(
            f"{option}: {folder} cannot be {doing} ({error.strerror}); give a folder that the user "
            f"of every engine process may {allowed if writes else 'read'}",
            option,
        ) from None
