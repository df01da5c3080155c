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

    def capacity(self, count: int) -> int:
        """How many extents so many blocks give at most."""
        return self._core.capacity(count)

    def extents(
        self, block_ids: npt.ArrayLike, out: npt.NDArray[np.void] | None = None
    ) -> npt.NDArray[np.void]:
        """The bytes of the blocks in the order in which they are stored: a structured array.

        ``["address"]`` and ``["length"]`` are bytes, ``["storage"]`` numbers the registration's
        storages. Neighbours that touch are one extent. The order depends on layers and number of ids
        only: what was stored under some ids can be brought back under others.

        out: written to when given, `capacity` long; what is returned is its beginning.
        Raises `Error` for an id that the group does not have.
        """
        import numpy as np

        if block_ids is None or isinstance(block_ids, (str, bytes, bytearray, set, frozenset, dict)):
            raise _arguments.wrong("block_ids", block_ids, "a list or an array of ints")
        ids = np.asarray(block_ids)
        if ids.size == 0:
            ids = ids.astype(np.int64)
        if ids.ndim != 1 or ids.dtype.kind not in "iu":
            raise Error(f"block_ids: {ids.ndim} axes of {ids.dtype} where one axis of ints is wanted")
        if ids.dtype == np.uint64 and ids.size and int(ids.max()) > np.iinfo(np.int64).max:
            raise Error(f"block_ids: {int(ids.max())} does not fit in 64 bits with sign")
        ids = np.ascontiguousarray(ids, dtype=np.int64)
        if out is None:
            out = np.empty(self._core.capacity(len(ids)), dtype=extent_dtype())
        elif not isinstance(out, np.ndarray):
            raise _arguments.wrong("out", out, f"a numpy array of {extent_dtype()}")
        elif out.dtype != extent_dtype() or not out.flags.c_contiguous:
            raise Error(f"out: not a contiguous array of {extent_dtype()}")
        return out[: self._core.write(ids, out)]
