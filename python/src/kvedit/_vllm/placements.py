"""Where layers lie in an arena."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import _arguments
from .._errors import Error
from .attributes import MISSING, names_of, needed

if TYPE_CHECKING:
    from .._core import _Placement


def placements_of(kv_cache_config: Any) -> list[_Placement]:
    tensors = getattr(kv_cache_config, "kv_cache_tensors", None)
    if tensors is None:
        return []
    if not isinstance(tensors, (list, tuple)):
        raise _arguments.refused("/placements", tensors, "a list (kv_cache_tensors)")
    placed: list[_Placement] = []
    at, tensor = -1, None
    try:
        for at, tensor in enumerate(tensors):
            layers = getattr(tensor, "layers", MISSING)
            if layers is not MISSING:
                placed.append(_placement(at, tensor, layers))
            elif hasattr(tensor, "shared_by"):
                _add_shared(at, tensor, placed)
            else:
                raise _no_placement(at, tensor)
    except Exception as error:
        raise _arguments.unreadable(f"/placements/{at}", tensor, error)
    return placed


def _placement(at: int, tensor: Any, layers: Any) -> _Placement:
    """Of 0.30 and later."""
    names = names_of(layers, f"/placements/{at}/layers")
    block_stride = getattr(tensor, "block_stride", MISSING)
    layer_stride = getattr(tensor, "layer_stride", MISSING)
    if block_stride is MISSING or layer_stride is MISSING:
        name = "block_stride" if block_stride is MISSING else "layer_stride"
        needed(tensor, name, f"/placements/{at}/{name}")
    if block_stride == 0 and block_stride is not False:
        where = f"/placements/{at}/block_stride"
        raise Error(
            f"{where}: 0 puts all blocks of its layers at one place; give the bytes from a block to "
            "the next (before vLLM 0.30, with shared_by, 0 stands for no placement)",
            where,
        )
    return names, getattr(tensor, "offset", 0), layer_stride, block_stride, at


def _add_shared(at: int, tensor: Any, placed: list[_Placement]) -> None:
    """Until 0.29: every layer at one place, and a block stride of 0 (or none) where the tensor is its
    layers' own and nothing is placed."""
    names = names_of(tensor.shared_by, f"/placements/{at}/layers")
    block_stride = getattr(tensor, "block_stride", None)
    if block_stride is not None and block_stride != 0:
        placed.append((names, getattr(tensor, "offset", 0), 0, block_stride, at))


def _no_placement(at: int, tensor: Any) -> Error:
    where = f"/placements/{at}"
    return Error(
        f"{where}: {_arguments.kind(tensor)} without layers and without shared_by where vLLM's "
        "KVCacheTensor is wanted",
        where,
    )
