"""kvedit's drop-in and LMCache's own edits on the same objects, and what is right of both.

An answer is judged by what `expected` says of a registration and by what LMCache's own detection
makes of the views: the bytes it would move for each block, the slots and tokens it counts in one.
"""

import copy
import json
import logging
import sys
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

TESTS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS.parent / "python" / "tests"))

import lmcache_oracle  # noqa: E402
import vllm_objects  # noqa: E402
from kvedit.integrations import lmcache as ours  # noqa: E402
from lmcache.integration.vllm import kv_cache_group_edits as theirs  # noqa: E402
from spans import inside, of_block, union  # noqa: E402
from vllm.distributed import parallel_state  # noqa: E402

# Only what is said of a layer of this outcome is to be moved.
SERVED = None


class Case:
    """A registration on a device. memory: host memory, which LMCache takes through files that are
    shared: every cache must be dense. Else a device, also where the engine had none."""

    def __init__(self, name, registration, expected, memory):
        self.name, self.registration, self.expected, self.memory = (
            name, registration, expected, memory,
        )  # fmt: skip
        self.config = vllm_objects.config_of(registration)
        self.caches = vllm_objects.caches_of(registration)
        self.hints = vllm_objects.hints_of(registration)
        self.dcp = registration.get("parallel", {}).get("dcp", 1)

    def __repr__(self):
        return self.name + (MEMORY if self.memory else "")

    @property
    def refused_as(self):
        """Codes with which it is to be refused; none when it is right."""
        return set(self.expected.get("refused_as_one_of", ()))

    @property
    def refused_for_lmcache(self):
        """Why LMCache cannot serve it though it is right; empty when it can."""
        return self.expected.get("refused_profiles", {}).get("lmcache", "")

    @property
    def served(self):
        """Layer → what is right, for layers that are to be moved."""
        return {name: each for name, each in self.expected.get("layers", {}).items()
                if each.get("outcome") is SERVED}  # fmt: skip


    @property
    def foreign(self):
        """Layers of groups that are in host memory, or not to be moved."""
        return [
            name for group in self.registration["groups"] for name in group["layers"]
            if group.get("host_resident") or not group.get("enable_kv_transfer", True)
        ]  # fmt: skip


def on_device(registration, device):
    moved = copy.deepcopy(registration)
    for storage in moved["storages"].values():
        storage["device"] = device
    return moved


def files():
    for folder, prefix in ((TESTS / "registrations", ""),
                           (TESTS / "field" / "registrations", "field/")):  # fmt: skip
        for path in sorted(folder.glob("*.json")):
            yield prefix + path.stem, path, folder / "expected" / path.name


def names():
    """Of every registration; of those of host memory also as if a device had them."""
    made = []
    for name, path, _ in files():
        memory = lmcache_oracle.devices_of(json.loads(path.read_text())) == {"cpu"}
        made += [name + MEMORY, name] if memory else [name]
    return made


MEMORY = ", in memory"


@lru_cache(maxsize=None)
def case(name):
    memory = name.endswith(MEMORY)
    plain = name.removesuffix(MEMORY)
    folder = TESTS / "field" if plain.startswith("field/") else TESTS
    file = plain.removeprefix("field/") + ".json"
    registration = json.loads((folder / "registrations" / file).read_text())
    expected = json.loads((folder / "registrations" / "expected" / file).read_text())
    if not memory and lmcache_oracle.devices_of(registration) == {"cpu"}:
        registration = on_device(registration, "cuda:0")
    return Case(plain, registration, expected, memory)


@dataclass
class Answer:
    """verdict: ``right``; ``bytes``, ``tokens`` or ``slots`` that are wrong; ``refused`` by the
    edits; ``rejected`` by LMCache's detection of what they gave; ``guessed`` where nothing can be
    right."""

    verdict: str
    why: str = ""
    error: Exception | None = None
    views: dict = field(default_factory=dict)
    reads: dict = field(default_factory=dict)


def quiet(function, *arguments):
    logging.disable(logging.CRITICAL)
    try:
        return function(*arguments)
    finally:
        logging.disable(logging.NOTSET)


def under_dcp(size):
    """A worker of that decode context parallelism."""
    group = SimpleNamespace(world_size=size, rank_in_group=0) if size > 1 else None
    return mock.patch.object(parallel_state, "_DCP", group)


def answer_of(edits, case):
    with under_dcp(case.dcp):
        try:
            views = quiet(edits.apply_kv_cache_group_edits, case.config, case.caches, case.hints)
        except Exception as error:  # whatever it raises is its refusal
            return Answer("refused", str(error), error)
    if case.registration.get("layout") in ("LHBNC", "BHLNC"):
        return Answer("rejected", "its connector refuses the layout", NotImplementedError(), views)
    try:
        reads = quiet(
            lmcache_oracle.readings, case.config, views, case.hints,
            lmcache_oracle.devices_of(case.registration), case.dcp, case.memory,
        )  # fmt: skip
    except Exception as error:
        return Answer("rejected", str(error), error, views)
    return Answer(*verdict_of(case, views, reads), None, views, reads)


@lru_cache(maxsize=None)
def ours_of(name):
    return answer_of(ours, case(name))


@lru_cache(maxsize=None)
def theirs_of(name):
    return answer_of(theirs, case(name))


def verdict_of(case, views, reads):
    if case.refused_as:
        return "guessed", ", ".join(sorted(case.refused_as))
    foreign = next((name for name in case.foreign if name in reads), None)
    if foreign:
        return "bytes", f"{foreign} is no memory of the device's"
    layers = [judge_layer(case, name, right, views[name], reads.get(name))
              for name, right in case.served.items()]  # fmt: skip
    found = dict(reversed([each for each in layers if each]))
    return next(((kind, found[kind]) for kind in ("bytes", "tokens", "slots") if kind in found),
                ("right", ""))  # fmt: skip


def judge_layer(case, name, right, view, read):
    """The first thing that is wrong, as (kind, why); nothing when all is right."""
    if read is None:
        return "bytes", f"{name} is left out"
    if read["blocks"] < right["blocks"]:
        return "bytes", f"{name}: {read['blocks']} blocks of {right['blocks']}"
    shown = shown_as(case, view)
    for block in blocks_of(right["blocks"]):
        moved = moved_for(shown, read, block)
        payload, owned = of_block(right["parts"], block), owned_by(right, block)
        if not covers(moved, payload) or not covers(owned, moved):
            sizes = f"{sum_of(moved)} bytes, {sum_of(payload)} right"
            return "bytes", f"{name}: block {block} of {sizes}"
    if read["tokens"] != right["tokens"]:
        return "tokens", f"{name}: {read['tokens']} of {right['tokens']}"
    slots = min(right["slots"], right["tokens"])  # it skips by tokens and stores no part of one
    if read["slots"] != slots:
        return "slots", f"{name}: {read['slots']} of {slots}"
    return None


def blocks_of(count):
    """All of them, or 64 over the whole range."""
    some = {round(at * (count - 1) / 63) for at in range(64)}
    return sorted(some) if count > 64 else range(count)


def shown_as(case, view):
    """As a report shows a view."""
    names = {storage_of(tensor): given["storage"]
             for layer, cache in case.registration["caches"].items()
             for tensor, given in zip(listed(case.caches[layer]), listed(cache))}  # fmt: skip
    return [{"dtype": str(tensor.dtype).removeprefix("torch."), "shape": list(tensor.shape),
             "stride": list(tensor.stride()), "storage_offset": tensor.storage_offset(),
             "storage": names[storage_of(tensor)]} for tensor in listed(view)]  # fmt: skip


def listed(given):
    return given if isinstance(given, (list, tuple)) else [given]


def storage_of(tensor):
    return tensor.untyped_storage()._cdata


def moved_for(shown, read, block):
    """Storage → spans that LMCache moves for a block."""
    spans = {}
    for storage, begin, size in lmcache_oracle.moved(shown, read, block):
        spans.setdefault(storage, []).append((begin, begin + size))
    return {storage: union(each) for storage, each in spans.items()}


def owned_by(right, block):
    """`owned` is said of block 0; others lie as far away as the payload's."""
    first = {storage: union((begin, begin + size) for begin, size in ranges)
             for storage, ranges in right["owned"].items()}  # fmt: skip
    payload = of_block(right["parts"], 0)
    there = of_block(right["parts"], block)
    if first == payload:
        return there
    ((storage, spans),) = first.items()
    step = there[storage][0][0] - payload[storage][0][0]
    return {storage: [(begin + step, end + step) for begin, end in spans]}


def covers(outer, inner):
    return all(inside(spans, outer.get(storage, [])) for storage, spans in inner.items())


def sum_of(spans):
    return sum(end - begin for each in spans.values() for begin, end in each)


def signature(view):
    """What a consumer sees of a view, list or not."""
    return [
        (str(tensor.dtype), tuple(tensor.shape), tuple(tensor.stride()), tensor.storage_offset(),
         storage_of(tensor)) for tensor in listed(view)
    ]  # fmt: skip


def same_views(some, other):
    return list(some) == list(other) and all(
        signature(some[name]) == signature(other[name]) for name in some
    )


def vllm_config(dcp):
    """What kvedit reads of it."""
    return SimpleNamespace(parallel_config=SimpleNamespace(decode_context_parallel_size=dcp))
