"""Which models the reference connector takes for one, and which it tells apart."""

import itertools
import json
import os
import shutil
import sys
import time
from types import ModuleType, SimpleNamespace

import pytest

from kvedit.integrations._store import weights
from kvedit.integrations._store.model import model_name

MOMENT = 1_700_000_000_123_456_789  # ns


def config_of(folder, **more):
    model = SimpleNamespace(
        model=str(folder), revision=None, dtype="bfloat16", quantization=None,
        hf_config=SimpleNamespace(to_dict=lambda: {"rope": 1, "_name_or_path": "x"}),
    )  # fmt: skip
    return SimpleNamespace(
        model_config=model, speculative_config=None,
        cache_config=SimpleNamespace(prefix_caching_hash_algo="sha256", cache_dtype="auto"), **more,
    )  # fmt: skip


def name_of(folder):
    return model_name(config_of(folder), None)


def put(path, data, moment=MOMENT):
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    os.utime(path, ns=(moment, moment))
    return path


def safetensors(tensors, **header):
    """The bytes of a file with these tensors, one after the other."""
    at, table = 0, dict(header)
    for name, data in tensors.items():
        table[name] = {"dtype": "U8", "shape": [len(data)], "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(table).encode()
    return len(text).to_bytes(8, "little") + text + b"".join(tensors.values())


TENSORS = {f"layers.{number}": bytes([number]) * (1000 + number) for number in range(20)}


def test_models_are_told_apart_by_their_weights(tmp_path):
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    (tmp_path / "README.md").write_bytes(b"read")
    name = name_of(tmp_path)
    (tmp_path / "README.md").write_bytes(b"read again")
    assert name_of(tmp_path) == name
    (tmp_path / "model.safetensors").write_bytes(b"others")
    other = name_of(tmp_path)
    assert other != name
    config = config_of(tmp_path)
    assert model_name(config, "mine") not in (name, other)
    assert model_name(config_of("elsewhere"), "mine") == model_name(config, "mine")
    assert name_of("org/model") != name_of("org/other")


@pytest.mark.parametrize("place", ["first", "middle", "last"])
@pytest.mark.parametrize("tensor", ["layers.0", "layers.7", "layers.19"])
def test_equal_sizes_and_times_are_not_equal_weights(tmp_path, tensor, place):
    changed = bytearray(TENSORS[tensor])
    changed[{"first": 0, "middle": len(changed) // 2, "last": -1}[place]] ^= 1
    put(tmp_path / "a" / "model.safetensors", safetensors(TENSORS))
    put(tmp_path / "b" / "model.safetensors", safetensors({**TENSORS, tensor: bytes(changed)}))
    assert name_of(tmp_path / "a") != name_of(tmp_path / "b")


def test_a_copy_with_its_times_is_the_same_model(tmp_path):
    for name in ("model-2.safetensors", "model-1.safetensors"):
        put(tmp_path / "a" / name, safetensors(TENSORS))
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    (tmp_path / "c").mkdir()
    for name in ("model-1.safetensors", "model-2.safetensors"):  # made in another order; links
        (tmp_path / "c" / name).symlink_to(tmp_path / "a" / name)
    assert name_of(tmp_path / "a") == name_of(tmp_path / "b") == name_of(tmp_path / "c")
    put(tmp_path / "b" / "model-1.safetensors", safetensors(TENSORS), MOMENT + 1)
    assert name_of(tmp_path / "a") != name_of(tmp_path / "b")


def test_tensors_are_told_apart_by_name_and_metadata_too(tmp_path):
    names = set()
    renamed = {f"layers.{19 - number}": data for number, data in enumerate(TENSORS.values())}
    for number, data in enumerate(
        (safetensors(TENSORS), safetensors(renamed), safetensors(TENSORS, __metadata__={"a": "b"}))
    ):
        put(tmp_path / str(number) / "model.safetensors", data)
        names.add(name_of(tmp_path / str(number)))
    assert len(names) == 3


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.gguf", "model.safetensors"])
def test_files_of_other_kinds_are_sampled_all_over(tmp_path, name):
    """What is changed, as long as pieces are apart, is seen wherever it lies."""
    size = 3 << 20
    put(tmp_path / "same" / name, bytes(size))
    for at in range(0, size, size // 7):
        data = bytearray(size)
        data[at : at + size // 255] = b"\1" * (min(at + size // 255, size) - at)
        put(tmp_path / str(at) / name, data)
    assert len({name_of(each) for each in tmp_path.iterdir()}) == len(list(tmp_path.iterdir()))


def test_weights_may_lie_in_folders_of_their_own(tmp_path):
    for name in ("a", "b"):
        put(tmp_path / "text" / "model.safetensors", safetensors(TENSORS))
        put(tmp_path / "sound" / "model.safetensors", safetensors({"a": name.encode()}))
        (tmp_path / "config.json").write_text(name)
        tmp_path.rename(tmp_path.with_name(name))
        tmp_path.mkdir()
    assert name_of(tmp_path.with_name("a")) != name_of(tmp_path.with_name("b"))
    shutil.copytree(tmp_path.with_name("a"), tmp_path / "copy")
    assert name_of(tmp_path.with_name("a")) == name_of(tmp_path / "copy")
    put(tmp_path / "copy" / "model.tensors", b"above them")
    whole = name_of(tmp_path / "copy")
    shutil.rmtree(tmp_path / "copy" / "sound")  # checkpoints of the training, say
    assert name_of(tmp_path / "copy") == whole


def test_a_model_may_be_one_file(tmp_path):
    path = put(tmp_path / "model.gguf", b"one")
    first = name_of(path)
    put(path, b"two")
    assert name_of(path) != first


HEADERS = {
    "empty": b"", "short": b"\x10\0\0", "longer than the file": (1 << 40).to_bytes(8, "little"),
    "the longest": b"\xff" * 8, "no JSON": (4).to_bytes(8, "little") + b"\xff\xfe{}",
    **{
        text[:30]: len(text).to_bytes(8, "little") + text.encode()
        for text in (
            "[]", "1", '{"a": 1}', '{"a": {}}', '{"a": {"data_offsets": 1}}',
            '{"a": {"data_offsets": [1]}}', '{"a": {"data_offsets": [0, 1e400]}}',
            '{"a": {"data_offsets": [0, NaN]}}', '{"a": {"data_offsets": [-9, 5]}}',
            '{"a": {"data_offsets": [5, 4]}}', '{"a": {"data_offsets": ["x", null]}}',
            '{"a": {"data_offsets": [0, 99999999999999999999999]}}', "[" * 100_000,
            '{"a": {"data_offsets": [0, ' + "9" * 5000 + "]}}",
        )
    },
}  # fmt: skip


@pytest.mark.parametrize("header", HEADERS.values(), ids=HEADERS)
def test_headers_that_are_torn_or_hostile_are_bytes(tmp_path, header):
    names = set()
    for end in (b"", b"\0" * 300, b"\1" * 300, bytes(299) + b"\1"):
        path = put(tmp_path / "model.safetensors", header + end)
        names.add(name_of(tmp_path))
        assert name_of(tmp_path) == name_of(path.parent)
    assert len(names) == 4


def test_tensors_that_overlap_or_are_empty_are_read_once(tmp_path):
    table = {name: {"data_offsets": span} for name, span in {
        "whole": [0, 500], "inside": [100, 300], "again": [0, 500], "empty": [500, 500]}.items()
    }  # fmt: skip
    text = json.dumps(table).encode()
    put(tmp_path / "model.safetensors", len(text).to_bytes(8, "little") + text + bytes(500))
    first = name_of(tmp_path)
    put(tmp_path / "model.safetensors", len(text).to_bytes(8, "little") + text + bytes(499) + b"1")
    assert name_of(tmp_path) != first


def test_what_is_no_file_or_leads_nowhere_is_passed_over(tmp_path):
    put(tmp_path / "m" / "model.safetensors", safetensors(TENSORS))
    (tmp_path / "m" / "folder.bin").mkdir()
    os.mkfifo(tmp_path / "m" / "pipe.bin")
    (tmp_path / "m" / "gone.bin").symlink_to(tmp_path / "nowhere")
    assert name_of(tmp_path / "m") == name_of(tmp_path / "m")


def test_how_much_is_read_is_bounded(tmp_path, monkeypatch):
    many = {str(number): bytes(1000) for number in range(5000)}
    path = put(tmp_path / "model.safetensors", safetensors(many))
    header = path.stat().st_size - 5_000_000
    read, pread = [], os.pread
    monkeypatch.setattr(os, "pread", lambda *given: read.append(given[1]) or pread(*given))
    name_of(tmp_path)
    samples = weights.MOST_TENSORS * 3
    assert sum(read) <= 2 * header + 8 + samples * weights.SAMPLE and len(read) <= samples + 3
    read.clear()
    put(tmp_path / "b" / "model.bin", bytes(8 << 20))
    name_of(tmp_path / "b")
    assert sum(read) == weights.PIECES * weights.PIECE
    for number in range(40):
        put(tmp_path / "c" / f"model-{number}.safetensors", safetensors(many))
    read.clear()
    name_of(tmp_path / "c")
    assert len(read) <= weights.MOST_TENSORS_IN_ALL * 3 + 40 * 3


def test_weights_of_the_hub_go_by_their_commit_or_by_their_files(tmp_path, monkeypatch):
    def name(commit, asked=None):
        config = config_of("org/model")
        config.model_config.hf_config._commit_hash = commit
        config.model_config.hf_config_path = asked
        return model_name(config, None)

    names = {name(None), name("0123"), name("4567")}
    assert len(names) == 3
    hub = ModuleType("huggingface_hub")

    def snapshot_download(name, revision, cache_dir, local_files_only):
        assert (name, revision, cache_dir, local_files_only) == ("org/model", None, None, True)
        return str(tmp_path)

    hub.snapshot_download = snapshot_download
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)
    put(tmp_path / "model.safetensors", safetensors(TENSORS))
    assert name(None) == name("0123", "config/of/another")  # whose commit says nothing of weights
    assert name(None) not in names and name("0123") in names
    names.add(name(None))
    put(tmp_path / "model.safetensors", safetensors({**TENSORS, "more": b"1"}))
    assert name(None) not in names
    hub.snapshot_download = lambda *_, **__: 1 / 0
    assert name(None) in names


# --- what else decides ---


def changed(**facts):
    config = config_of("org/model", **{name: SimpleNamespace() for name in (
        "load_config", "attention_config", "diffusion_config", "compilation_config")})  # fmt: skip
    config.model_config.multimodal_config = SimpleNamespace()
    for path, value in facts.items():
        *above, name = path.split("__")
        each = config
        for step in above:
            each = getattr(each, step)
        setattr(each, name, value)
    return config


FACTS = {
    "nothing": {},
    "dtype": {"model_config__dtype": "float16"},
    "quantized": {"model_config__quantization": "fp8"},
    "quantized online": {"model_config__quantization_config": {"linear": "fp8"}},
    "config": {"model_config__hf_config": SimpleNamespace(to_dict=lambda: {"rope": 2})},
    "implementation": {"model_config__model_impl": "transformers"},
    "code": {"model_config__code_revision": "0123"},
    "e4m3": {"cache_config__cache_dtype": "fp8_e4m3"},
    "e5m2": {"cache_config__cache_dtype": "fp8_e5m2"},
    "skipped": {"cache_config__kv_cache_dtype_skip_layers": ["0"]},
    "hash": {"cache_config__prefix_caching_hash_algo": "sha256_cbor"},
    "indexer": {"attention_config__indexer_kv_dtype": "fp8"},
    "causal": {"attention_config__use_non_causal": True},
    "images": {"model_config__multimodal_config__mm_processor_kwargs": {"max_pixels": 1}},
    "videos": {"model_config__multimodal_config__video_pruning_rate": 0.5},
    "draft": {"speculative_config": SimpleNamespace(model="org/draft")},
    "dummy": {"load_config__load_format": "dummy"},
    "elsewhere": {"load_config__model_loader_extra_config": {"tensorizer_uri": "s3://a"}},
    "platform": {"additional_config": {"enable_kv_nz": True}},
    "amx": {"compilation_config__static_forward_context": {"a": SimpleNamespace(isa="amx")}},
    "vec": {"compilation_config__static_forward_context": {"a": SimpleNamespace(isa="vec")}},
    "avx": {"compilation_config__static_forward_context": {
        "a": SimpleNamespace(impl=SimpleNamespace(isa="avx"))}},
    "made up": {"load_config__load_format": "dummy", "model_config__seed": 1},
}


def test_what_changes_the_bytes_of_a_prefix_changes_the_name():
    names = {name: model_name(changed(**facts), "mine") for name, facts in FACTS.items()}
    for one, other in itertools.combinations(names, 2):
        assert names[one] != names[other], (one, other)
    again = {name: model_name(changed(**facts), "mine") for name, facts in FACTS.items()}
    assert again == names


@pytest.mark.parametrize("factors, told_apart", [("long_factor", True), ("mrope_section", False)])
def test_the_longest_request_counts_where_keys_are_turned_by_it(factors, told_apart):
    hf_config = SimpleNamespace(to_dict=lambda: {"rope_parameters": {factors: [1.0, 2.0]}})
    names = {
        model_name(changed(model_config__hf_config=hf_config, model_config__max_model_len=tokens), "mine")
        for tokens in (4096, 131072)
    }
    assert len(names) == (2 if told_apart else 1)


def test_scales_that_an_engine_works_out_itself_are_its_own():
    config = changed(cache_config__calculate_kv_scales=True)
    assert model_name(config, None) != model_name(config, None)
    config = changed(cache_config__calculate_kv_scales=False)
    assert model_name(config, None) == model_name(config, None)


def test_a_draft_goes_by_its_weights(tmp_path):
    put(tmp_path / "model.safetensors", safetensors(TENSORS))
    draft = SimpleNamespace(model=str(tmp_path), revision=None)
    config = changed(
        speculative_config=SimpleNamespace(model=str(tmp_path), draft_model_config=draft)
    )
    first = model_name(config, None)
    put(tmp_path / "model.safetensors", safetensors({**TENSORS, "more": b"1"}))
    assert model_name(config, None) != first


def test_versions_and_platforms_begin_anew(monkeypatch):
    config = changed()
    names = {model_name(config, None)}
    vllm, platforms = ModuleType("vllm"), ModuleType("vllm.platforms")
    monkeypatch.setitem(sys.modules, "vllm", vllm)
    monkeypatch.setitem(sys.modules, "vllm.platforms", platforms)
    for version, device, fp8 in (
        ("0.32.0", "cuda", "e4m3fn"), ("0.33.0", "cuda", "e4m3fn"), ("0.33.0", "rocm", "e4m3fn"),
        ("0.33.0", "rocm", "e4m3fnuz"),
    ):  # fmt: skip
        vllm.__version__ = version
        platforms.current_platform = SimpleNamespace(
            device_name=device, fp8_dtype=lambda fp8=fp8: fp8
        )
        names.add(model_name(config, None))
    assert len(names) == 5


def test_configs_are_read_alike_in_every_process():
    def name(facts):
        return model_name(
            changed(model_config__hf_config=SimpleNamespace(to_dict=lambda: facts)), None
        )

    assert name({1: {"b", "a"}, "x": (1, 2)}) == name({"x": [1, 2], 1: {"a", "b"}})
    assert name({}) != name({"x": None})


def test_a_large_file_is_looked_at_quickly(tmp_path):
    """A sparse file of 16 GB with as many tensors as a model of that size."""
    table = {
        str(number): {"data_offsets": [number << 25, (number + 1) << 25]} for number in range(500)
    }
    text = json.dumps(table).encode()
    path = put(tmp_path / "model.safetensors", len(text).to_bytes(8, "little") + text)
    os.truncate(path, 8 + len(text) + (500 << 25))
    begin = time.perf_counter()
    name_of(tmp_path)
    assert time.perf_counter() - begin < 2
