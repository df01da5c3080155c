"""Every given registration through the package: what is expected of it, and what the program says."""

import gc
import json
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import kvedit
from conftest import DATA, GIVEN, NAMES
from spans import of_block, some_blocks

PROGRAM = Path(kvedit.__file__).parent / "bin" / "kvedit"


def edit(host, given, **options):
    return host.edit(kvedit.Registration.from_json(given.text), **options)


def test_pages_are_the_expected_ones_or_it_is_refused_as_expected(host, given):
    result = edit(host, given)
    if given.refused_as:
        assert not result.ok and not result.pages
        codes = {each.code for each in result.problems if each.severity == "error"}
        assert codes and codes <= given.refused_as
        with pytest.raises(kvedit.Error) as raised:
            result.raise_for_problems()
        assert raised.value.problems == result.problems
        assert all(each.message in str(raised.value) for each in result.problems
                   if each.severity == "error")  # fmt: skip
        return
    assert result.ok
    result.raise_for_problems()
    right = given.expected["layers"]
    assert set(right) <= set(result.layers)
    for name, layer in result.layers.items():
        expected = right.get(name, {"outcome": "excluded"})
        if expected.get("outcome") == "excluded":
            assert layer.outcome == "excluded" and layer.reason
            assert layer.pages is None and layer.views == () and name not in result.pages
            continue
        pages = result.pages[name]
        for number in ("blocks", "kernel_pages", "slots", "tokens"):
            assert getattr(pages, number) == expected[number], (name, number)
        parts = layer.fields["pages"]["parts"]
        for block in some_blocks(pages.blocks):
            assert of_block(parts, block) == of_block(expected["parts"], block)


def test_the_report_is_the_program_s_to_the_byte(host, given):
    result = edit(host, given)
    command = [PROGRAM, "explain", "--json", given.path]
    done = subprocess.run(command, capture_output=True, text=True, env={}, check=False)
    assert done.stderr == ""
    assert result.to_json() == done.stdout
    assert result.ok == (done.returncode == 0)
    assert result.report() == json.loads(done.stdout)


def test_objects_say_what_the_report_says(host, given):
    result = edit(host, given, purpose="transfer", profile="packed")
    report = result.report()
    assert (report["purpose"], report["profile"]) == ("transfer", "packed")
    assert result.chunk_tokens == report["chunk_tokens"]
    assert [each.fields for each in result.groups] == report["groups"]
    assert [(g.index, g.kind, g.outcome, g.layers) for g in result.groups] == [
        (g["index"], g["kind"], g["outcome"], g["layers"]) for g in report["groups"]
    ]
    assert result.fingerprint == report["fingerprint"]
    assert [(g.retention, g.window_tokens, g.fingerprint) for g in result.groups] == [
        (g["retention"], g["window_tokens"], g["fingerprint"]) for g in report["groups"]
    ]
    assert [each._asdict() for each in result.problems] == report["problems"]
    assert list(result.layers) == [each["name"] for each in report["layers"]]
    for layer, given_layer in zip(result.layers.values(), report["layers"]):
        assert layer.fields == given_layer
        assert (layer.group, layer.rule) == (given_layer["group"], given_layer["rule"])
        assert [each.rule for each in layer.tried] == [each["rule"] for each in given_layer["tried"]]
        views = given_layer["view"]
        if isinstance(views, dict):
            assert list(layer.view.shape) == views["shape"]
            assert list(layer.view.stride) == views["stride"]
        assert (layer.view is None) == (not isinstance(views, dict))


def test_a_report_is_anew_with_every_call(host, qwen):
    result = edit(host, qwen)
    result.report()["layers"].clear()
    assert len(result.report()["layers"]) == len(result.layers) == 24


def test_repr_tells_what_it_is(host, qwen):
    result = edit(host, qwen)
    assert repr(result) == (
        "<kvedit.Result ok: 24 of 24 layers served in 4 groups, chunk 544 tokens>"
    )
    assert repr(result.registration) == (
        "<kvedit.Registration qwen3.5-0.8b-flashinfer-nhd, vllm 0.32.0, LBNHC: 24 layers in 4 "
        "groups, 64 blocks>"
    )
    refused = edit(kvedit.Host(standard_rules=False), qwen)
    assert repr(refused).startswith("<kvedit.Result refused: granularity-mismatch; ")
    assert "rules, 0 problems>" in repr(host)


def test_texts_for_people(host, qwen):
    result = edit(host, qwen)
    assert "smallest legal chunk: 544 tokens" in result.explain()
    assert "\x1b[" not in result.explain() and "\x1b[" in result.explain(colours=True)
    assert "kvedit.mamba-page" in result.explain("model.layers.3.self_attn.attn")
    with pytest.raises(kvedit.Error, match="no such layer"):
        result.explain("no.such.layer")


@pytest.mark.parametrize(
    ("options", "where"),
    [({"profile": "widescreen"}, "profile"), ({"purpose": "fun"}, "purpose")],
)
def test_wrong_options_are_named(host, qwen, options, where):
    with pytest.raises(kvedit.Error) as raised:
        edit(host, qwen, **options)
    assert raised.value.where == where and raised.value.problems == ()


def test_a_host_that_cannot_be_opened(tmp_path):
    with pytest.raises(kvedit.Error, match=str(tmp_path / "nowhere")):
        kvedit.Host(rule_dirs=[tmp_path / "nowhere"])
    no_pack = tmp_path / "kvedit.none.so"
    no_pack.write_text("nothing")
    host = kvedit.Host(packs=[no_pack], required_packs=["acme.layouts"])
    assert {each.code for each in host.problems} == {"pack-refused", "pack-missing"}
    assert host.rules == kvedit.Host().rules
    assert host.report()["schema"] == "kvedit.rules/1"


def test_a_required_pack_that_is_missing_refuses_every_edit(qwen):
    result = edit(kvedit.Host(required_packs=["acme.layouts"]), qwen)
    assert [each.code for each in result.problems] == ["pack-missing"]
    assert not result.ok and not result.pages


def test_rules_of_somebody_else(qwen):
    folder = Path(kvedit.__file__).parent / "lib" / "kvedit" / "rules"
    if not folder.exists():  # the build tree
        folder = Path(kvedit.__file__).parents[2] / "lib" / "kvedit" / "rules"
    host = kvedit.Host(standard_rules=False, rule_dirs=[folder])
    result = edit(host, qwen)
    assert result.ok and host.rules == kvedit.Host().rules


def test_the_log_is_told_and_nothing_is_printed(qwen, capfd):
    said = []
    host = kvedit.Host(standard_rules=False, log=lambda level, message: said.append((level, message)))
    assert not edit(host, qwen).ok
    assert any(level == "error" and "granularity-mismatch" in message for level, message in said)
    edit(kvedit.Host(standard_rules=False), qwen)
    captured = capfd.readouterr()
    assert captured.out == captured.err == ""


def test_a_logger_will_do(qwen, caplog):
    import logging

    caplog.set_level(logging.DEBUG, logger="engine.kv")
    edit(kvedit.Host(standard_rules=False, log=logging.getLogger("engine.kv")), qwen)
    assert any(record.levelno == logging.ERROR for record in caplog.records)


def test_a_log_that_raises_does_not_fail_the_edit(qwen):
    shown = []
    before, sys.unraisablehook = sys.unraisablehook, lambda about: shown.append(about.exc_value)
    try:
        result = edit(kvedit.Host(standard_rules=False, log=lambda *_: 1 / 0), qwen)
    finally:
        sys.unraisablehook = before
    assert not result.ok and shown
    assert all(isinstance(each, ZeroDivisionError) for each in shown)


def test_a_host_in_a_cycle_through_its_log_is_collected():
    class Engine:
        def __init__(self):
            self.host = kvedit.Host(log=self.log)

        def log(self, level, message):
            pass

    import weakref

    engine = Engine()
    gone = weakref.ref(engine)
    del engine
    gc.collect()
    assert gone() is None


def test_threads_share_a_host_and_a_registration(host):
    """Every thread gets the same bytes, also while others edit other registrations."""
    right = {name: edit(host, GIVEN[name]).to_json() for name in NAMES}
    registrations = {name: kvedit.Registration.from_json(GIVEN[name].text) for name in NAMES}
    start = threading.Barrier(8)

    def work(first):
        start.wait()
        for step in range(3 * len(NAMES)):
            name = NAMES[(first * 7 + step) % len(NAMES)]
            result = host.edit(registrations[name])
            if result.to_json() != right[name] or result.ok != (not GIVEN[name].refused_as):
                return name
        return None

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(8))) == [None] * 8


def test_threads_share_a_result(host, qwen):
    for _ in range(20):
        result = edit(host, qwen)
        start = threading.Barrier(6)

        def work(_):
            start.wait()
            return len(result.layers), len(result.pages), result.chunk_tokens

        with ThreadPoolExecutor(6) as pool:
            assert set(pool.map(work, range(6))) == {(24, 24, 544)}


def long_registration(layers):
    """Many attention layers side by side in one storage."""
    page, blocks = 4096, 8
    spec = {"type": "FullAttentionSpec", "bases": [], "block_size": 16, "page_size_bytes": page,
            "num_kv_heads": 2, "head_size": 32, "dtype": "bfloat16"}  # fmt: skip
    caches = {
        f"layers.{i}": {"dtype": "bfloat16", "shape": [blocks, 2, 16, 64],
                        "stride": [2048, 1024, 64, 1], "storage_offset": i * blocks * page // 2,
                        "storage": "s0"}
        for i in range(layers)
    }  # fmt: skip
    return json.dumps({
        "schema": "kvedit.registration/1", "num_blocks": blocks,
        "groups": [{"layers": list(caches), "spec": spec}], "placements": [],
        "storages": {"s0": {"nbytes": layers * blocks * page}}, "caches": caches,
    })  # fmt: skip


def test_others_run_while_a_registration_is_edited(host):
    """Python is told to take turns never, so another thread gets one only when the edit lets go."""
    registration = kvedit.Registration.from_json(long_registration(4000))
    ran, gate = threading.Event(), threading.Lock()
    gate.acquire()

    def wait_then_run():
        with gate:
            ran.set()

    interval = sys.getswitchinterval()
    thread = threading.Thread(target=wait_then_run)
    thread.start()
    try:
        sys.setswitchinterval(1000)
        gate.release()
        deadline = time.perf_counter() + 0.2
        while time.perf_counter() < deadline:
            pass  # the other one is now waiting for its turn
        assert not ran.is_set()
        turns = any(host.edit(registration).ok and ran.is_set() for _ in range(200))
    finally:
        sys.setswitchinterval(interval)
        thread.join()
    assert turns


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_nothing_is_kept(host):
    """Memory and references stay where they are over many rounds."""
    text = GIVEN["live-v0320-nemotron-h-kbs32"].text
    bare = kvedit.Host(standard_rules=False)
    said = []
    logging_host = kvedit.Host(standard_rules=False, log=lambda *args: said.append(args))

    def round_trip():
        registration = kvedit.Registration.from_json(text)
        result = host.edit(registration)
        assert result.layers and result.pages and result.groups and result.problems == ()
        list(result.pages.values())[0].addresses([0, 5, 6])
        assert bare.edit(registration).problems and logging_host.edit(registration).problems
        said.clear()
        for wrong in ("{", '{"schema": 1}', text[:-20]):
            with pytest.raises(kvedit.Error):
                kvedit.Registration.from_json(wrong)
        with pytest.raises(kvedit.Error):
            bare.edit(registration).raise_for_problems()

    shared = (None, True, False, kvedit.Error, "native", kvedit.Registration)
    for _ in range(50):
        round_trip()
    gc.collect()
    references, objects, bytes_before = [sys.getrefcount(x) for x in shared], len(gc.get_objects()), resident()
    for _ in range(300):
        round_trip()
    gc.collect()
    if sys.version_info < (3, 12):  # later these never change
        assert abs(sys.getrefcount(None) - references[0]) < 300
    assert abs(sys.getrefcount(kvedit.Error) - references[3]) < 20
    assert abs(len(gc.get_objects()) - objects) < 200
    assert resident() - bytes_before < 8 << 20


def test_data_lies_where_the_tests_look():
    assert (DATA / "expected").is_dir()
