"""What engine processes do with the reference connector: see `test_store_connector`."""

import contextlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import zoo
from engine import Engine

WIPES = {"zeros": 0, "garbage": 0xA5}


def connector_of(store: str, policy: str = "fail", **extra: Any) -> dict[str, Any]:
    return {
        "kv_connector": "StoreConnector",
        "kv_connector_module_path": "kvedit.integrations.vllm",
        "kv_role": "kv_both",
        "kv_load_failure_policy": policy,
        "kv_connector_extra_config": {"kvedit.path": store, **extra},
    }


class Stored:
    """An engine with the reference connector over the folder `store`."""

    def __init__(self, store: str, *, extra: dict[str, Any] | None = None,
                 policy: str = "fail", **engine: Any) -> None:  # fmt: skip
        self.engine = Engine(connector=connector_of(store, policy, **(extra or {})), **engine)
        from vllm.distributed.kv_transfer import get_kv_transfer_group

        self.worker = get_kv_transfer_group()._worker
        self.layout = self.worker.layout

    def __enter__(self) -> "Stored":
        return self

    def __exit__(self, *_: object) -> None:
        self.engine.close()

    def ask(self, *prompts: list[int], tokens: int = 8, reading: bool = True) -> Any:
        """Answers of one batch; what was stored with it lies in files afterwards. Not `reading`:
        neither the engine's own cache nor the store is asked."""
        from vllm import SamplingParams

        wanted = SamplingParams(
            max_tokens=tokens, temperature=0, ignore_eos=True, detokenize=False, logprobs=3,
            skip_reading_prefix_cache=not reading,
        )  # fmt: skip
        given = [{"prompt_token_ids": prompt} for prompt in prompts]
        answers = [
            {
                "tokens": list(answer.outputs[0].token_ids),
                "logprobs": [
                    chances[token].logprob
                    for token, chances in zip(
                        answer.outputs[0].token_ids, answer.outputs[0].logprobs or (), strict=True
                    )
                ],
                "cached": answer.num_cached_tokens,
                "finish": answer.outputs[0].finish_reason,
            }
            for answer in self.engine.llm.generate(given, wanted, use_tqdm=False)
        ]
        self.worker.wait()
        return answers if len(prompts) > 1 else answers[0]

    def wiped(self, *prompts: list[int], byte: int = 0xA5, **how: Any) -> Any:
        """The same when nothing is left in the engine."""
        self.engine.forget()
        self.engine.fill(byte)
        return self.ask(*prompts, **how)

    @property
    def block_tokens(self) -> int:
        return max(group.tokens for group in self.layout.groups if group)

    def files(self, group: int | None = None) -> list[Path]:
        """Files of all groups or of one, the oldest first."""
        folder = Path(self.worker._files.path(self.layout.folder))
        if group is not None:
            folder /= self.layout.groups[group].fingerprint
        return sorted(folder.rglob("*.kv"), key=lambda path: path.stat().st_mtime_ns)

    @contextlib.contextmanager
    def damaged(self, how: str, kernel_pages: int | None) -> Iterator[None]:
        """Loads move half the bytes of each page; or one kernel page of attention blocks, to where
        it lies when the block id is taken for its number."""
        groups = dict(self.worker._groups)
        for number, blocks in groups.items():
            group = self.layout.groups[number]
            if how == "half":
                self.worker._groups[number] = _Half(blocks)
            elif kernel_pages and not group.recurrent:
                self.worker._groups[number] = _KernelPage(
                    blocks, group.tokens // kernel_pages, self.engine, number
                )
        yield
        self.worker._groups = groups


class _Half:
    def __init__(self, blocks: Any) -> None:
        self.blocks, self.block_bytes, self.gather = blocks, blocks.block_bytes, blocks.gather

    def scatter(self, ids: list[int], payload: Any) -> None:
        there = self.blocks.gather(ids)
        for part in self.blocks._parts:
            half = (part.begin + part.end) // 2
            there[:, part.begin : half] = payload[:, part.begin : half]
        self.blocks.scatter(ids, there)


class _KernelPage:
    def __init__(self, blocks: Any, pages: int, engine: Engine, group: int) -> None:
        import kvedit
        from kvedit.integrations._store.blocks import storages_of

        registration = kvedit.Registration.from_vllm(engine.cache_config, engine.caches)
        result = kvedit.Host().edit(registration)
        self.storages = storages_of(result, engine.caches)
        self.parts = [
            part
            for layer in result.layers.values()
            if layer.group == group and layer.pages
            for part in layer.pages.parts
        ]
        self.blocks, self.pages = blocks, pages
        self.block_bytes, self.gather = blocks.block_bytes, blocks.gather

    def scatter(self, ids: list[int], payload: Any) -> None:
        import torch

        for part, slot in zip(self.parts, self.blocks._parts, strict=True):
            memory = torch.empty(0, dtype=torch.uint8).set_(self.storages[part.storage])
            page = (slot.end - slot.begin) // self.pages
            for block, row in zip(ids, payload, strict=True):
                at = part.base + block * part.block_stride // self.pages
                memory[at : at + page] = torch.from_numpy(row[slot.begin : slot.begin + page])


def prompts_of(block: int) -> dict[str, list[int]]:
    unit = max(block, 64)  # whole blocks
    long = zoo.prompt(4 * unit + 76)
    return {
        "long": long,
        "sibling": long[: 2 * unit + 40] + zoo.prompt(unit, seed=2),
        "whole blocks": zoo.prompt(3 * unit, seed=3),
        "one more": zoo.prompt(2 * unit + 1, seed=4),
    }


def keep(store: str, kernel_pages: int | None, local_hit: bool, **engine: Any) -> dict[str, Any]:
    """Fills the store, forgets, and brings everything back in the same process. What is right is
    what the engine says without any cache; or, with `local_hit`, from its own."""
    with Stored(store, kernel_pages=kernel_pages, **engine) as stored:
        block = stored.block_tokens
        prompts = prompts_of(block)
        right = {}
        for name, prompt in prompts.items():
            right[name] = stored.ask(prompt, reading=False)
            if local_hit:
                right[name] = stored.ask(prompt)
        answers = {wipe: {} for wipe in WIPES}
        for wipe, byte in WIPES.items():
            for name, prompt in prompts.items():
                answers[wipe][name] = stored.wiped(prompt, byte=byte)
        both = stored.wiped(prompts["long"], prompts["sibling"])
        for how in ["half"] + (["kernel page"] if kernel_pages else []):
            with stored.damaged(how, kernel_pages):
                answers[how] = {"long": stored.wiped(prompts["long"])}
        return {
            "right": right,
            "answers": answers,
            "both": both,
            "block": block,
            "groups": [group.retention if group else None for group in stored.layout.groups],
            "bytes": _file_sizes(stored),
        }


def _file_sizes(stored: Stored) -> list[list[int]]:
    """For each group: payload of a block, and the sizes that its files have."""
    return [
        [group.block_bytes, *sorted({path.stat().st_size for path in stored.files(number)})]
        for number, group in enumerate(stored.layout.groups)
    ]


def bring_back(store: str, **engine: Any) -> dict[str, Any]:
    """After a restart: what another process has stored; then with the last file of each group
    damaged, and asked once more; then with files that vanish after the engine was promised them."""
    with Stored(store, policy="recompute", **engine) as stored:
        prompts = prompts_of(stored.block_tokens)
        answers = {name: stored.ask(prompt) for name, prompt in prompts.items()}
        last = _last_read(stored, prompts["long"])
        damaged = {}
        for how, damage in DAMAGES.items():
            for path in last:
                damage(path)
            damaged[how] = [stored.wiped(prompts["long"]), stored.wiped(prompts["long"])]
        read, files = stored.worker._files.read, stored.worker._files

        def vanish(name: str, into: Any) -> bool:
            Path(files.path(name)).unlink(missing_ok=True)
            return bool(read(name, into))

        files.read = vanish
        vanished = stored.wiped(prompts["long"])
        files.read = read
        after = stored.wiped(prompts["long"])
        return {"answers": answers, "damaged": damaged, "vanished": vanished, "after": after}


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def _other(path: Path) -> None:
    """The file of another block, whole and in order."""
    others = (each for each in path.parent.parent.rglob("*.kv") if each != path)
    path.write_bytes(next(others).read_bytes())


def _link(path: Path) -> None:
    path.rename(path.with_suffix(".moved"))
    path.symlink_to(path.with_suffix(".moved"))


DAMAGES = {"cut": _cut, "flipped": _flip, "other": _other, "link": _link, "gone": Path.unlink,
           "empty": lambda path: path.write_bytes(b"")}  # fmt: skip


def _last_read(stored: Stored, prompt: list[int]) -> list[Path]:
    """The file of each group that a load of the prompt reads last."""
    files, read, names = stored.worker._files, stored.worker._files.read, []

    def noted(name: str, into: Any) -> bool:
        names.append(name)
        return bool(read(name, into))

    files.read = noted
    stored.wiped(prompt)
    files.read = read
    by_group = {name.split("/")[2]: name for name in names}
    return [Path(files.path(name)) for name in by_group.values()]


def fail(store: str, **engine: Any) -> dict[str, Any]:
    """A file vanishes, and the engine's policy is to fail: this request and no other."""
    with Stored(store, **engine) as stored:
        prompt = zoo.prompt(3 * stored.block_tokens + 5)
        right = stored.ask(prompt, reading=False)
        read, files = stored.worker._files.read, stored.worker._files
        files.read = lambda name, into: False
        failed = stored.wiped(prompt)
        files.read = read
        return {"right": right, "failed": failed, "next": stored.wiped(prompt)}


def change_weights(store: str, **engine: Any) -> dict[str, Any]:
    """In place, with a reset, while blocks of before are still on their way to a slow disk."""
    with Stored(store, **engine) as stored:
        prompt = zoo.prompt(3 * stored.block_tokens + 5)
        files, wait = stored.worker._files, stored.worker.wait
        write = files.write
        go = threading.Event()
        files.write = lambda *given: go.wait(60) and write(*given)
        stored.worker.wait = lambda: None
        before = stored.ask(prompt)
        for name, weights in stored.engine._runner.model.named_parameters():
            if "embed" in name:  # matrices have been packed elsewhere
                weights.data.copy_(weights.data.roll(1, 0))
        reset = stored.engine.llm.reset_prefix_cache(reset_connector=True)
        go.set()
        wait()
        files.write, stored.worker.wait = write, wait
        late = len(stored.files())
        first = stored.ask(prompt)
        again = stored.wiped(prompt)
        right = stored.ask(prompt, reading=False)
        return {"before": before, "reset": reset, "late": late, "first": first, "again": again,
                "right": right}  # fmt: skip


def conversation(store: str, turn: int = 60, **engine: Any) -> dict[str, Any]:
    """A second turn after the first: its prompt has tokens that were generated, across the end of a
    block. What is right is what the engine's own cache gives."""
    with Stored(store, **engine) as stored:
        block = stored.block_tokens
        prompt = zoo.prompt(3 * block - turn // 2)
        first = stored.ask(prompt, tokens=turn)
        prompt = prompt + first["tokens"] + zoo.prompt(20, seed=5)
        save, stored.worker.save = stored.worker.save, lambda plan: None  # of the first turn alone
        right = stored.ask(prompt)
        stored.worker.save = save
        return {"right": right, "loaded": stored.wiped(prompt), "block": block}


def tails(store: str, length: int, **engine: Any) -> dict[str, Any]:
    """Hits inside a block, where the engine hashes units smaller than one: a request that goes on
    after its boundary, and one that ends at it."""
    with Stored(store, **engine) as stored:
        prompt = zoo.prompt(length)
        stored.ask(prompt)
        ended = zoo.prompt(length, seed=6)
        stored.ask(ended, tokens=1)
        outcome = {"block": stored.block_tokens}
        for name, start in (("went on", prompt), ("ended", ended)):
            longer = start + zoo.prompt(30, seed=7)
            right = stored.ask(longer)
            outcome[name] = {"right": right, "loaded": stored.wiped(longer)}
        return outcome


def junctions(store: str, **engine: Any) -> dict[str, Any]:
    """Prompts that only begin alike, with an engine that keeps a state for every block."""
    with Stored(store, **engine) as stored:
        block = stored.block_tokens
        first = zoo.prompt(4 * block + 10)
        second = first[: 2 * block + 50] + zoo.prompt(block, seed=8)
        stored.ask(first)
        save, stored.worker.save = stored.worker.save, lambda plan: None  # of the first alone
        right = stored.ask(second)
        stored.worker.save = save
        return {"right": right, "loaded": stored.wiped(second), "block": block}


def shards(store: str, prompt: list[int], files: int, reset: bool, **engine: Any) -> list[Any]:
    """With two workers in processes of their own: answers of a prompt; once so many files are there
    and the engine has forgotten it, again without a file of the second worker. Then, for `reset`,
    after one of the store: at once, and when the engine has forgotten it."""
    import multiprocessing

    from vllm.v1.executor import multiproc_executor

    # Forked, they have the weights that let a prefix be heard, and import nothing anew.
    multiproc_executor.get_mp_context = lambda: multiprocessing.get_context("fork")
    with Engine(connector=connector_of(store), tensor_parallel_size=2, **engine) as running:
        answers = [running.generate(prompt)]
        _wait_for_files(store, files)
        running.forget()
        next(Path(store).glob("*/tp1-pcp0/**/*.kv")).unlink()
        answers.append(running.generate(prompt))
        _wait_for_files(store, files)
        if reset:
            running.forget(connector=True)
            answers.append(running.generate(prompt))
            _wait_for_files(store, files)
            running.forget()
            answers.append(running.generate(prompt))
        return answers


def _wait_for_files(store: str, count: int) -> None:
    deadline = time.monotonic() + 30
    while len(list(Path(store).rglob("*.kv"))) < count and time.monotonic() < deadline:
        time.sleep(0.05)
