#!/usr/bin/env python3
"""Time of the drop-in against LMCache's own edits, on the same objects in the same run.

Usage: bench_drop_in.py [ROUNDS]   (needs vllm, lmcache and an importable kvedit)

Prints, for a hybrid of 64 layers whose attention is kernel-paged, the same unsplit, and others,
microseconds of both and their ratio: the least and the median of ROUNDS (300). Rounds of the two
alternate, so that both see the same machine. Logging is off; the proof is inside kvedit's time.
Specs that kvedit has read in the process are not read again, but where it says "specs anew".
"""

import gc
import json
import logging
import statistics
import sys
import time
from pathlib import Path

import vllm_objects
from kvedit._vllm import specs
from kvedit.integrations import lmcache as ours
from lmcache.integration.vllm import kv_cache_group_edits as theirs

REGISTRATIONS = Path(__file__).resolve().parent.parent / "registrations"


def given(name):
    return json.loads((REGISTRATIONS / f"{name}.json").read_text())


def unsplit(registration):
    """The same with attention at the size of a block: rows of tokens, kernel pages joined."""
    blocks = registration["num_blocks"]
    for cache in registration["caches"].values():
        pages, _, tokens, _ = cache["shape"]
        k = pages // blocks
        if k > 1:
            cache["shape"][:3:2] = blocks, tokens * k
            cache["stride"][0] *= k
    return registration


def cases():
    split = "qwen3.5-27b-aiter"
    yield "64 layers, kernel-paged", given(split), "meta"
    yield "64 layers, kernel-paged, in memory", given(split), "cpu"
    yield "64 layers, kernel-paged, in memory, specs anew", given(split), "cpu"
    yield "64 layers, unsplit", unsplit(given(split)), "meta"
    yield "64 layers, unsplit, in memory", unsplit(given(split)), "cpu"
    yield "64 layers, unsplit, in memory, specs anew", unsplit(given(split)), "cpu"
    yield "65 layers, kernel-paged", given("qwen3.5-27b-fp8-mtp2-flashinfer"), "meta"
    yield "24 layers, kernel-paged", given("qwen3.5-0.8b-flashinfer-nhd"), "meta"


def once(function, arguments):
    begin = time.perf_counter_ns()
    function(*arguments)
    return (time.perf_counter_ns() - begin) / 1000


def compare(registration, device, rounds, anew):
    """Microseconds of LMCache and of kvedit, one pair a round. Rows of states are tight in both."""
    arguments = (vllm_objects.config_of(registration),
                 vllm_objects.caches_of(registration, device, claim=False),
                 vllm_objects.hints_of(registration))  # fmt: skip
    ours._on_cpu = lambda caches: False  # as on a device
    forget = specs._frozen_spec.cache_clear if anew else lambda: None
    pair = theirs.apply_kv_cache_group_edits, ours.apply_kv_cache_group_edits
    for function in pair * 20:
        function(*arguments)
    gc.collect()
    gc.disable()
    times = []
    for _ in range(rounds):
        forget()
        times.append([once(function, arguments) for function in pair])
    gc.enable()
    return list(zip(*times))


def main(arguments):
    logging.disable(logging.CRITICAL)
    rounds = int(arguments[0]) if arguments else 300
    for name, registration, device in cases():
        lmcache, kvedit = compare(registration, device, rounds, "anew" in name)
        least = min(kvedit) / min(lmcache)
        middle = statistics.median(kvedit) / statistics.median(lmcache)
        print(f"{name:46} LMCache {min(lmcache):6.0f} us  kvedit {min(kvedit):6.0f} us  "
              f"ratio {least:.3f} (median {middle:.3f})")  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
