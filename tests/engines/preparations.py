"""What has to be changed in vLLM 0.32's CPU build before a tiny model is a test of anything.

Each function changes one thing in the process that calls it, before the engine is made.
"""

import ctypes
import os
import weakref
import zlib
from typing import Any


def inspect_models_here() -> None:
    """vLLM looks at an unknown architecture in a subprocess that imports all of vLLM once more."""
    from vllm.model_executor.models import registry

    registry._run_in_subprocess = lambda look: look()


def guard_llvmlite() -> None:
    """vLLM 0.32 without triton asks every object of every module for its ``__dict__``. llvmlite's
    lazy library answers any name with a function, and the engine dies of it. LMCache imports it."""
    from llvmlite.binding import ffi

    for value in list(vars(ffi).values()):
        kind = type(value)
        if kind.__module__ != ffi.__name__ or "__getattr__" not in vars(kind):
            continue
        theirs = vars(kind)["__getattr__"]
        if getattr(theirs, "guarded", False):
            continue

        def guarded(self: Any, name: str, theirs: Any = theirs) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            return theirs(self, name)

        guarded.guarded = True  # type: ignore[attr-defined]
        kind.__getattr__ = guarded


def _weights(name: str, like: Any) -> Any:
    """Weights that depend on the name of the parameter alone, and let a prefix be heard at the end:
    matrices keep the size of what they map, states decay slowly."""
    import torch

    source = torch.Generator().manual_seed(zlib.crc32(name.encode()))
    leaf = name.rsplit(".", 1)[-1]

    def normal() -> Any:
        return torch.randn(like.shape, generator=source)

    def uniform() -> Any:
        return torch.rand(like.shape, generator=source)

    if leaf in ("A", "A_log"):  # A < 0 is the rate at which a Mamba layer forgets
        rate = 0.005 + 0.05 * uniform()
        return rate.log() if leaf == "A_log" else -rate
    if leaf == "dt_bias":
        return uniform() - 0.5
    if leaf == "D":
        return 1 + 0.1 * normal()
    if "embed" in name or "lm_head" in name:
        return normal()
    if like.ndim > 1:
        return normal() * 1.5 / like[0].numel() ** 0.5
    return 1 + 0.1 * normal() if "norm" in name else 0.1 * normal()


def seed_weights() -> None:
    """Load format ``dummy`` gives weights so small that every prefix has the same answer."""
    import torch
    from vllm.model_executor.model_loader.dummy_loader import DummyModelLoader

    def load_weights(self: Any, model: Any, model_config: Any) -> None:
        for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
            fixed = name.endswith(("cos_sin_cache", "inv_freq"))
            if not fixed and torch.is_floating_point(tensor) and tensor.numel():
                tensor.data.copy_(_weights(name, tensor).to(tensor.dtype))

    DummyModelLoader.load_weights = load_weights


def force_kernel_pages(tokens: int) -> None:
    """Cuts attention pages into kernel pages of so many tokens, as GPU backends do. The CPU backend
    takes any multiple of 32 and so never cuts; and it zeroes new blocks by the manager's ids in the
    kernel-paged tensor, which wipes blocks of others."""
    import torch
    from vllm.v1.attention.backends.cpu_attn import CPUAttentionBackend
    from vllm.v1.kv_cache_interface import FullAttentionSpec
    from vllm.v1.worker.cpu_model_runner import CPUModelRunner

    def zero_blocks(self: Any, block_ids: list[int]) -> None:
        blocks = self.kv_cache_config.num_blocks
        context = self.compilation_config.static_forward_context
        for group in self.kv_cache_config.kv_cache_groups:
            if not isinstance(group.kv_cache_spec, FullAttentionSpec):
                continue
            for name in group.layer_names:
                cache = getattr(context.get(name), "kv_cache", None)
                if isinstance(cache, torch.Tensor):
                    pages = cache.shape[0] // blocks
                    for block in block_ids:
                        cache[block * pages : (block + 1) * pages].zero_()

    CPUAttentionBackend.get_supported_kernel_block_sizes = staticmethod(lambda *_, **__: [tokens])
    CPUModelRunner._zero_block_ids = zero_blocks


def keep_prefix_caching() -> None:
    """vLLM switches its own prefix cache off for latent attention on a CPU without AMX; what it would
    answer with a hit there is what an answer from a connector is measured by."""
    from vllm.platforms.cpu import CpuPlatform

    theirs = CpuPlatform.check_and_update_config.__func__

    def check_and_update_config(cls: Any, vllm_config: Any) -> None:
        theirs(cls, vllm_config)
        vllm_config.cache_config.enable_prefix_caching = True

    CpuPlatform.check_and_update_config = classmethod(check_and_update_config)


_KEPT: list[Any] = []


def _move_to_shared_memory(caches: dict[str, Any]) -> None:
    import torch
    from lmcache.v1.platform.devices.cpu import shm

    moved: dict[int, Any] = {}
    for cache in caches.values():
        storage = cache.untyped_storage()
        if storage.data_ptr() not in moved:
            size = storage.nbytes()
            name = f"/lmcache_kv_test_{os.getpid()}_{len(_KEPT)}"
            address = shm.shm_create_readwrite(name, size)
            memory = (ctypes.c_uint8 * size).from_address(address)
            flat = torch.frombuffer(memory, dtype=torch.uint8).zero_()
            ours = flat.untyped_storage()
            reference = weakref.ref(ours)
            shm._CPU_SHM_SEGMENTS[id(ours)] = (reference, reference, name, size)
            _KEPT.append((flat, ours, name))
            moved[storage.data_ptr()] = ours
        ours = moved[storage.data_ptr()]
        cache.set_(ours, cache.storage_offset(), cache.shape, cache.stride())


def forget_shared_memory() -> None:
    from lmcache.v1.platform.devices.cpu import shm

    for _, _, name in _KEPT:
        shm.shm_unlink(name)


def share_caches() -> None:
    """Puts the caches into POSIX shared memory from the start, and tells LMCache so. Otherwise it
    copies what it is handed into shared memory and turns only those tensors to the copy: where they
    are views, vLLM goes on writing to the old memory."""
    from vllm.v1.worker import gpu_model_runner, utils
    from vllm.v1.worker.gpu import attn_utils

    theirs = utils.allocate_kv_cache

    def allocate_kv_cache(*given: Any, **named: Any) -> dict[str, Any]:
        caches: dict[str, Any] = theirs(*given, **named)
        _move_to_shared_memory(caches)
        return caches

    for module in (utils, gpu_model_runner, attn_utils):
        module.allocate_kv_cache = allocate_kv_cache
