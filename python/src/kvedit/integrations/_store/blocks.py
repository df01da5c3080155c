"""Blocks of a group as rows of contiguous bytes, and back: through the page maps and nothing else.

The payload of a block is the ranges of its page maps, layer after layer. Each part of a page map is
seen as rows of its storage, as wide as all its numbers allow, so that a batch of blocks is one
indexed copy a part, whatever the layout.
"""

from __future__ import annotations

import ctypes
import math
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from ... import Part, Result

    Bytes = npt.NDArray[np.uint8]
    Rows = npt.NDArray[np.int64]


class Memory(Protocol):
    """One storage as rows of so many bytes."""

    def take(self, rows: Rows) -> Bytes:
        """Copies of these rows, one after the other."""

    def put(self, rows: Rows, data: Bytes) -> None:
        """Overwrites these rows and no other byte."""


class HostMemory:
    def __init__(self, storage: Any, width: int) -> None:
        self._storage = storage  # keeps the memory alive
        nbytes = storage.nbytes()
        buffer = (ctypes.c_uint8 * nbytes).from_address(storage.data_ptr())
        self._rows = np.frombuffer(buffer, np.uint8)[: nbytes // width * width].reshape(-1, width)

    def take(self, rows: Rows) -> Bytes:
        return np.take(self._rows, rows, axis=0)

    def put(self, rows: Rows, data: Bytes) -> None:
        self._rows[rows] = data.reshape(len(rows), -1)


class DeviceMemory:
    """By torch, on the device's current stream: ordered with what the engine has asked for so
    far."""

    def __init__(self, storage: Any, width: int) -> None:
        self._torch = torch = import_module("torch")
        size = next(size for size in (8, 4, 2, 1) if width % size == 0)
        dtype = {8: torch.int64, 4: torch.int32, 2: torch.int16, 1: torch.uint8}[size]
        self._dtype = np.dtype(f"i{size}") if size > 1 else np.dtype(np.uint8)
        self._device = storage.device
        count = storage.nbytes() // width
        flat = torch.empty(0, dtype=dtype, device=storage.device)
        self._rows = flat.set_(storage, 0, (count, width // size), (width // size, 1))

    def take(self, rows: Rows) -> Bytes:
        found = self._rows.index_select(0, self._torch.from_numpy(rows).to(self._device))
        taken: Bytes = found.cpu().numpy().view(np.uint8)
        return taken

    def put(self, rows: Rows, data: Bytes) -> None:
        words = np.ascontiguousarray(data).reshape(len(rows), -1).view(self._dtype)
        source = self._torch.from_numpy(words).to(self._device)
        self._rows.index_copy_(0, self._torch.from_numpy(rows).to(self._device), source)


class _PartRows(NamedTuple):
    memory: Memory
    first: Rows
    """Rows of block 0, in storing order."""
    step: int
    """Rows from a block to the next."""
    begin: int
    end: int
    """In the payload of a block."""

    def rows(self, blocks: Rows) -> Rows:
        rows: Rows = (blocks[:, None] * self.step + self.first).ravel()
        return rows


class GroupBlocks:
    """The blocks of one group: of all its layers that have pages. One thread at a time."""

    def __init__(
        self, result: Result, group: int, storages: Mapping[str, Any], on_host: bool | None = None
    ) -> None:
        """storages: the torch storage of each storage of the registration (`storages_of`).
        on_host: how memory is reached; by default as the storage's device asks for."""
        self._parts: list[_PartRows] = []
        self.block_bytes = 0
        self.count = 0
        for layer in result.layers.values():
            if layer.group != group or layer.pages is None:
                continue
            self.count = layer.pages.blocks
            for part in layer.pages.parts:
                self._add(part, storages[part.storage], on_host)

    def _add(self, part: Part, storage: Any, on_host: bool | None) -> None:
        if on_host is None:
            on_host = str(storage.device).startswith("cpu")
        width = math.gcd(part.base, part.block_stride, *(n for pair in part.ranges for n in pair))
        rows = [
            np.arange((part.base + at) // width, (part.base + at + length) // width)
            for at, length in part.ranges
        ]
        memory = HostMemory(storage, width) if on_host else DeviceMemory(storage, width)
        first = np.concatenate(rows).astype(np.int64)
        end = self.block_bytes + len(first) * width
        step = part.block_stride // width
        self._parts.append(_PartRows(memory, first, step, self.block_bytes, end))
        self.block_bytes = end

    def gather(self, blocks: Sequence[int]) -> Bytes:
        """A row of payload for each block id."""
        ids = self._checked(blocks)
        payload = np.empty((len(ids), self.block_bytes), np.uint8)
        for part in self._parts:
            taken = part.memory.take(part.rows(ids))
            payload[:, part.begin : part.end] = taken.reshape(len(ids), part.end - part.begin)
        return payload

    def scatter(self, blocks: Sequence[int], payload: Bytes) -> None:
        """Writes rows of payload to these block ids."""
        ids = self._checked(blocks)
        for part in self._parts if ids.size else ():
            part.memory.put(part.rows(ids), payload[:, part.begin : part.end])

    def _checked(self, blocks: Sequence[int]) -> Rows:
        ids = np.asarray(blocks, dtype=np.int64)
        if ids.size and not 0 <= ids.min() <= ids.max() < self.count:
            raise IndexError(f"block ids {ids.min()} to {ids.max()}, the group has {self.count}")
        return ids


def storages_of(result: Result, kv_caches: Mapping[str, Any]) -> dict[str, Any]:
    """The storage of each name: found by address among those of the registered tensors."""
    by_address: dict[int, Any] = {}
    for cache in kv_caches.values():
        for tensor in cache if isinstance(cache, (list, tuple)) else (cache,):
            storage = tensor.untyped_storage()
            by_address[storage.data_ptr()] = storage
    return {
        name: by_address[address]
        for name, address in result.bases(kv_caches).items()
        if address in by_address
    }
