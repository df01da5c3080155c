"""The parts of a report as objects. ``fields`` is the report's own object, also what is newer than
these classes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    import numpy.typing as npt

    from ._result import Result


@dataclass(frozen=True, slots=True)
class View:
    """A view over a storage, as ``torch.as_strided`` takes it: ``stride`` and ``storage_offset`` are
    elements of ``dtype``."""

    dtype: str
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    storage_offset: int
    storage: str
    block_axis: int
    """The axis whose index is the block id."""
    axes: tuple[str, ...]

    @classmethod
    def _of(cls, given: Mapping[str, Any]) -> View:
        return cls(
            given["dtype"],
            tuple(given["shape"]),
            tuple(given["stride"]),
            given["storage_offset"],
            given["storage"],
            given["block_axis"],
            tuple(given["axes"]),
        )


@dataclass(frozen=True, slots=True)
class Part:
    """Block *b* has the bytes ``[offset, offset + length)`` of each range, counted from
    ``base + b * block_stride`` of the storage."""

    storage: str
    base: int
    block_stride: int
    ranges: tuple[tuple[int, int], ...]

    @classmethod
    def _of(cls, given: Mapping[str, Any]) -> Part:
        ranges = tuple((offset, length) for offset, length in given["ranges"])
        return cls(given["storage"], given["base"], given["block_stride"], ranges)


@dataclass(frozen=True, slots=True)
class PageMap:
    """The payload of a layer: the bytes a faithful retrieve must restore, nothing more."""

    blocks: int
    parts: tuple[Part, ...]
    """In storing order."""
    block_bytes: int
    kernel_pages: int
    slots: int
    tokens: int
    opaque: bool
    order: str
    """``proved`` or ``declared``."""
    fields: Mapping[str, Any] = field(repr=False, compare=False)
    _result: Result = field(repr=False, compare=False)
    _layer: str = field(repr=False, compare=False)

    @classmethod
    def _of(cls, given: Mapping[str, Any], result: Result, layer: str) -> PageMap:
        parts = tuple(Part._of(part) for part in given["parts"])
        return cls(
            given["blocks"],
            parts,
            given["block_bytes"],
            given["kernel_pages"],
            given["slots"],
            given["tokens"],
            given["opaque"],
            given["order"],
            given,
            result,
            layer,
        )

    def addresses(
        self, block_ids: npt.ArrayLike, bases: Mapping[str, int] | None = None
    ) -> npt.NDArray[np.void]:
        """``AddressMap.extents`` of this layer alone: address, length and storage of every run of
        bytes of the blocks. Without ``bases`` an address is an offset into its storage: add where
        the storage begins, or give `Result.bases`."""
        return self._result.address_map(self._layer, bases).extents(block_ids)


@dataclass(frozen=True, slots=True)
class Tried:
    """What a rule said about a layer."""

    rule: str
    answer: str
    reason: str


@dataclass(frozen=True, slots=True)
class Layer:
    """What became of a layer; ``docs/formats.md``, "Layers"."""

    name: str
    group: int | None
    outcome: str
    """Of the layer itself. What is ``edited``, ``passed`` or ``scratch`` is served when the result is
    ok; when it is not, it is held back: ``views`` is empty and ``pages`` None."""
    rule: str | None
    reason: str | None
    """Why it is excluded."""
    views: tuple[View, ...]
    """One, or several when the page lies in several tensors; empty when there is none."""
    pages: PageMap | None
    tried: tuple[Tried, ...] = field(repr=False)
    fields: Mapping[str, Any] = field(repr=False, compare=False)

    @property
    def view(self) -> View | None:
        """The view where there is exactly one."""
        return self.views[0] if len(self.views) == 1 else None

    @classmethod
    def _of(cls, given: Mapping[str, Any], result: Result) -> Layer:
        view = given["view"]
        views = [] if view is None else view if isinstance(view, list) else [view]
        pages = given["pages"]
        return cls(
            given["name"],
            given["group"],
            given["outcome"],
            given["rule"],
            given["reason"],
            tuple(View._of(each) for each in views),
            None if pages is None else PageMap._of(pages, result, given["name"]),
            tuple(Tried(t["rule"], t["answer"], t["reason"]) for t in given["tried"]),
            given,
        )


@dataclass(frozen=True, slots=True)
class Group:
    """Layers that share block ids; ``docs/formats.md``, "Groups"."""

    index: int
    kind: str
    layers: int
    outcome: str
    """``served``, ``scratch``, ``excluded``, or ``refused``: all that are not excluded when the result
    is not ok."""
    tokens_per_block: int
    slots_per_block: int | None
    block_bytes: int | None
    retention: str | None
    window_tokens: int | None
    fingerprint: str | None
    """Names the bytes of the group's blocks; equal where they are laid out alike."""
    fields: Mapping[str, Any] = field(repr=False, compare=False)

    @classmethod
    def _of(cls, given: Mapping[str, Any]) -> Group:
        return cls(
            given["index"],
            given["kind"],
            given["layers"],
            given["outcome"],
            given["tokens_per_block"],
            given["slots_per_block"],
            given["block_bytes"],
            given.get("retention"),
            given.get("window_tokens"),
            given.get("fingerprint"),
            given,
        )
