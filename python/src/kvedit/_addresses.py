"""From block ids to addresses, as numpy arrays."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Self

from . import _arguments
from ._errors import Error

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from ._core import AddressMap as Core


_LARGEST = (1 << 63) - 1


@lru_cache(maxsize=None)
def extent_dtype() -> Any:
    """``address`` and ``length`` in bytes, ``storage`` as a number in ``Registration.storages``."""
    import numpy as np

    return np.dtype(
        {
            "names": ["address", "length", "storage"],
            "formats": ["<u8", "<u8", "<i4"],
            "offsets": [0, 8, 16],
            "itemsize": 24,
        }
    )


def _ids_of(given: Any) -> npt.NDArray[np.int64]:
    import numpy as np

    wanted = "a list or an array of ints"
    if given is None or isinstance(given, (str, bytes, bytearray, set, frozenset, dict)):
        raise _arguments.wrong("block_ids", given, wanted)
    try:
        ids = np.asarray(given)
    except Exception as error:  # of memory that is not the host's, or lists of several lengths
        kind = _arguments.kind(given)
        raise TypeError(f"block_ids: {kind} ({error}) where {wanted} is wanted") from None
    if ids.ndim == 1 and ids.size == 0:
        return ids.astype(np.int64)
    if ids.ndim != 1 or ids.dtype.kind not in "iu":
        _refuse_large(given)
        kind, axes = _arguments.kind(given), f"{ids.ndim} axes of {ids.dtype}"
        raise TypeError(f"block_ids: {kind} ({axes}) where {wanted} is wanted")
    if ids.dtype == np.uint64:
        _refuse_large(ids.tolist())
    return np.ascontiguousarray(ids, dtype=np.int64)


def _refuse_large(given: Any) -> None:
    """numpy makes something else of them."""
    if isinstance(given, (list, tuple)) and all(type(each) is int for each in given):
        for each in given:
            if not -_LARGEST <= each <= _LARGEST:
                raise Error(f"block_ids: {each} does not fit in 64 bits with sign", "block_ids")


def _check_out(out: Any) -> None:
    import numpy as np

    if not isinstance(out, np.ndarray) or out.dtype != extent_dtype():
        of = f" ({out.dtype})" if isinstance(out, np.ndarray) else ""
        wanted = f"a numpy array of {extent_dtype()}"
        raise TypeError(f"out: {_arguments.kind(out)}{of} where {wanted} is wanted")
    if out.ndim != 1 or not out.flags.c_contiguous:
        raise Error(f"out: one contiguous axis is wanted; it has shape {out.shape}", "out")
    if not out.flags.writeable:
        raise Error("out: it cannot be written (out.flags.writeable)", "out")


class AddressMap:
    """Turns block ids into addresses for chosen layers of one group. Immutable; any thread. Made by
    `Result.address_map`."""

    __slots__ = ("_core",)
    _core: Core

    def __init__(self, *_: object, **__: object) -> None:
        raise TypeError("an AddressMap is made by Result.address_map")

    @classmethod
    def _of(cls, core: Core) -> Self:
        made = cls.__new__(cls)
        made._core = core
        return made

    @property
    def block_bytes(self) -> int:
        """Bytes of one block over all chosen layers."""
        return self._core.block_bytes

    @property
    def dtype(self) -> np.dtype[np.void]:
        """Of what `extents` gives, and of its ``out``: ``address`` and ``length`` (uint64, bytes),
        ``storage`` (int32, a number in ``Registration.storages``); 24 bytes an extent."""
        dtype: np.dtype[np.void] = extent_dtype()
        return dtype

    def capacity(self, count: int) -> int:
        """How many extents so many blocks give at most."""
        blocks = _arguments.integer("count", count, "a number of blocks (int)")
        if not 0 <= blocks <= _LARGEST:
            raise Error(f"count: {blocks} blocks; 0 to {_LARGEST} can be", "count")
        return self._core.capacity(blocks)

    def extents(
        self, block_ids: npt.ArrayLike, out: npt.NDArray[np.void] | None = None
    ) -> npt.NDArray[np.void]:
        """The bytes of the blocks in the order in which they are stored: a structured array.

        ``["address"]`` and ``["length"]`` are bytes, ``["storage"]`` numbers the registration's
        storages; an address counts from the storage's first byte where the map was made without
        ``bases``. Neighbours that touch are one extent. The order depends on layers and number of ids
        only: what was stored under some ids can be brought back under others.

        out: written to when given: of this map's `dtype`, `capacity` long; what is returned is its
            beginning.
        Raises `Error` for an id that the group does not have.
        """
        import numpy as np

        ids = _ids_of(block_ids)
        if out is None:
            out = np.empty(self._core.capacity(len(ids)), dtype=extent_dtype())
        else:
            _check_out(out)
        return out[: self._core.write(ids, out)]
