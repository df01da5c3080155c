"""What tells the weights of one model from those of another, without reading them whole.

Of a folder: each file's name, size, time and samples of its bytes. A ``.safetensors`` file shows
its header, which is read whole, and the two ends and the middle of each tensor; any other evenly
spread pieces. Files that begin alike, or were made to have equal sizes and times, differ in those.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import stat
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    Spans = list[tuple[int, int]]  # first byte, one past the last

_WEIGHT_FILES = (".safetensors", ".bin", ".pt", ".pth", ".gguf", ".tensors")
_OTHERS = ("processor_config.json", ".py")  # what images become; code that comes with the weights
SAMPLE = 64
"""Bytes at each end and in the middle of a tensor."""
MOST_TENSORS = 2048
"""That are looked at in a file; of more, so many evenly chosen ones."""
MOST_TENSORS_IN_ALL = 16384
"""Shared out evenly among the files, at least one in each."""
LONGEST_HEADER = 16 << 20
PIECES, PIECE = 256, 4096
"""Number and bytes of those of other files. Smaller files are read whole."""


def weights_of(model: Any, load: Any) -> Sequence[Any]:
    """Facts for a digest. A model of the hub goes by its commit, where one is known and its config
    is its own, or by its files in the hub's cache; one that lies nowhere by its name."""
    path = str(model.model)
    files = _of_path(path)
    if files:
        return files
    revision = getattr(model, "revision", None)
    name = [path, str(revision), str(getattr(model, "model_weights", None) or "")]
    commit = getattr(getattr(model, "hf_config", None), "_commit_hash", None)
    if commit is not None and not getattr(model, "hf_config_path", None):
        return [*name, str(commit)]
    folder = _in_hub_cache(path, revision, getattr(load, "download_dir", None))
    return [*name, *(_of_path(folder) if folder else ())]


def _of_path(path: str) -> list[list[Any]]:
    """Of the weights in a folder, or of one file."""
    if os.path.isfile(path):
        return [[os.path.basename(path), *_facts(path, MOST_TENSORS)]]
    names = _files_in(path, "")
    if not any(name.endswith(_WEIGHT_FILES) for name in names):
        below = [_files_in(path, name) for name in _folders_in(path)]
        names = [*names, *(name for each in below for name in each)]
    if not any(name.endswith(_WEIGHT_FILES) for name in names):
        return []
    tensors = min(MOST_TENSORS, max(1, MOST_TENSORS_IN_ALL // len(names)))
    return [[name, *_facts(os.path.join(path, name), tensors)] for name in names]


def _files_in(path: str, folder: str) -> list[str]:
    """Names below `path` of the files that count."""
    try:
        names = sorted(os.listdir(os.path.join(path, folder)))
    except OSError:  # none, or the engine cannot read it either
        return []
    ends = (*_WEIGHT_FILES, *_OTHERS)
    return [os.path.join(folder, name) for name in names if name.endswith(ends)]


def _folders_in(path: str) -> list[str]:
    with contextlib.suppress(OSError), os.scandir(path) as entries:
        return sorted(each.name for each in entries if each.is_dir() and each.name[0] != ".")
    return []


def _in_hub_cache(name: str, revision: str | None, folder: str | None) -> str | None:
    hub = sys.modules.get("huggingface_hub")  # the engine has it, when it has asked the hub
    if hub is None:
        return None
    try:
        return str(
            hub.snapshot_download(name, revision=revision, cache_dir=folder, local_files_only=True)
        )
    except Exception:  # not there, no name of the hub, or another hub
        return None


def _facts(path: str, tensors: int) -> list[Any]:
    """Size, time and a digest of the samples."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:  # a link to nowhere; the engine has not read it either
        return [errno.errorcode.get(error.errno or 0)]
    try:
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode):
            return []
        digest = hashlib.blake2b(digest_size=16)
        for begin, end in _spans(file, path, status.st_size, tensors):
            digest.update(os.pread(file, end - begin, begin))
        return [status.st_size, status.st_mtime_ns, digest.hexdigest()]
    finally:
        os.close(file)


def _spans(file: int, path: str, size: int, tensors: int) -> Spans:
    """Of the bytes that are read; in order, none twice."""
    found = _tensors(file, size) if path.endswith(".safetensors") else None
    return _pieces(size) if found is None else _samples(*found, tensors)


def _pieces(size: int) -> Spans:
    if size <= PIECES * PIECE:
        return [(0, size)]
    starts = [number * (size - PIECE) // (PIECES - 1) for number in range(PIECES)]
    return [(start, start + PIECE) for start in starts]


def _tensors(file: int, size: int) -> tuple[int, Spans] | None:
    """Where the data begins, and each tensor in the file; None when the file is not of that kind,
    whatever it is called."""
    length = int.from_bytes(os.pread(file, 8, 0), "little")
    begin = 8 + length
    if length > LONGEST_HEADER or begin > size:
        return None
    try:
        header = json.loads(os.pread(file, length, 8))
        given = [each["data_offsets"] for name, each in header.items() if name != "__metadata__"]
        spans = sorted((begin + int(first), begin + int(end)) for first, end in given)
        right = all(begin <= first <= end <= size for first, end in spans)
        return (begin, spans) if right else None
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
        return None


def _samples(begin: int, tensors: Spans, most: int) -> Spans:
    """The header, and of each tensor as much as is looked at; neighbours in one."""
    spans = [(0, begin)]
    count = min(most, len(tensors))
    for number in range(count):
        first, end = tensors[number * len(tensors) // count]
        middle = (first + end - SAMPLE) // 2
        for at in (first, middle, end - SAMPLE):
            piece = max(first, at), min(end, at + SAMPLE)
            if piece[0] <= spans[-1][1]:
                spans[-1] = spans[-1][0], max(spans[-1][1], piece[1])
            else:
                spans.append(piece)
    return spans
