"""What a user may give by mistake is said by name, and never read as something else."""

import json
from pathlib import Path

import numpy as np
import pytest
from conftest import GIVEN
from standins import small

import kvedit

NAME = "qwen3.5-0.8b-flashinfer-nhd"
LAYER = "model.layers.3.self_attn.attn"


@pytest.fixture(scope="module")
def result():
    return kvedit.Host().edit(kvedit.Registration.from_json(GIVEN[NAME].text))


@pytest.mark.parametrize("option", ["packs", "rule_dirs"])
@pytest.mark.parametrize("one", ["/rules/a.so", Path("/rules/a.so"), b"/rules/a.so"])
def test_a_lone_path_is_no_list_of_letters(option, one):
    with pytest.raises(TypeError, match=option) as raised:
        kvedit.Host(**{option: one})
    assert f"pass [{one!r}]" in str(raised.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [({"required_packs": "acme.layouts"}, r"required_packs: one str .* pass \['acme.layouts'\]"),
     ({"required_packs": [3]}, r"required_packs\[0\]: a value of type int where a str"),
     ({"packs": 3}, "packs: a value of type int where a list of paths"),
     ({"packs": [None]}, r"packs\[0\]: None where a path"),
     ({"packs": {"a.so": 1}}, "packs: a value of type dict"),
     ({"rule_dirs": None}, "rule_dirs: None where a list of paths"),
     ({"rule_dirs": [b"/rules"]}, r"rule_dirs\[0\]: a value of type bytes"),
     ({"standard_rules_dir": 3}, "standard_rules_dir: a value of type int where a path"),
     ({"standard_rules": "no"}, "standard_rules: a value of type str where True or False"),
     ({"standard_rules": None}, "standard_rules: None where True or False"),
     ({"environment": 1}, "environment: a value of type int where True or False"),
     ({"log": 3}, "log: a value of type int where a logger"),
     ({"log": "kvedit"}, "log: a value of type str where a logger")],
)  # fmt: skip
def test_options_of_a_host(options, words):
    with pytest.raises(TypeError, match=words):
        kvedit.Host(**options)


def test_standard_rules_that_are_not_there(tmp_path):
    with pytest.raises(kvedit.Error, match="no rule pack is in it"):
        kvedit.Host(standard_rules_dir=tmp_path)
    with pytest.raises(kvedit.Error, match="leave one of them out"):
        kvedit.Host(standard_rules_dir=tmp_path, standard_rules=False)


@pytest.mark.parametrize("wrong", [None, 3, "{}", {}, GIVEN[NAME].facts])
def test_what_is_no_registration(wrong):
    with pytest.raises(TypeError, match="registration: .* where a kvedit.Registration"):
        kvedit.Host().edit(wrong)


@pytest.mark.parametrize(
    ("options", "words"),
    [({"profile": 3}, "profile: a value of type int where a str"),
     ({"profile": None}, "profile: None where a str"),
     ({"profile": b"native"}, "profile: a value of type bytes where a str"),
     ({"profile": np.array(["native", "bytes"])}, "profile: a value of type ndarray where a str"),
     ({"profile": 3, "recurrent_rows": "page"}, "profile: a value of type int where a str"),
     ({"purpose": 3}, "purpose: a value of type int where a str"),
     ({"recurrent_rows": False}, "recurrent_rows: a value of type bool where a str"),
     ({"recurrent_rows": np.array(["page", "tight"])}, "recurrent_rows: a value of type ndarray"),
     ({"pass_ungrouped": "x"}, "pass_ungrouped: a value of type str where True or False"),
     ({"pass_ungrouped": 0}, "pass_ungrouped: a value of type int where True or False")],
)  # fmt: skip
def test_options_of_an_edit(result, options, words):
    host = kvedit.Host()
    for call in (lambda: host.edit(result.registration, **options),
                 lambda: host.edit_live(*small(), **options)):  # fmt: skip
        with pytest.raises(TypeError, match=f"^{words}.* is wanted$"):
            call()


@pytest.mark.parametrize(
    ("options", "words"),
    [({"profile": "widescreen"}, "profile: \"widescreen\" is none; there are native, packed, bytes, lmcache"),
     ({"profile": "Native"}, "profile: \"Native\" is none; there are native, "),
     ({"profile": ""}, "profile: \"\" is none; there are native, "),
     ({"purpose": "fun"}, "purpose: \"fun\" is none; there are prefix, transfer"),
     ({"profile": "lmcache", "recurrent_rows": "loose"},
      "recurrent_rows: \"loose\" is none; there are tight, page")],
)  # fmt: skip
def test_words_that_are_none(result, options, words):
    with pytest.raises(kvedit.Error, match=f"^{words}") as raised:
        kvedit.Host().edit(result.registration, **options)
    assert raised.value.where == words.partition(":")[0]


def test_rows_of_states_go_with_their_profile(result):
    host, registration = kvedit.Host(), result.registration
    for profile in ("native", "packed", "bytes"):
        with pytest.raises(kvedit.Error, match="goes with profile 'lmcache'") as raised:
            host.edit(registration, profile=profile, recurrent_rows="page")
        assert raised.value.where == "recurrent_rows"
    assert host.edit(registration, profile="lmcache", recurrent_rows="page").registration
    assert host.edit(registration, recurrent_rows="tight").ok


@pytest.mark.parametrize("text", [None, 5, [123], Path("a.json")])
def test_json_that_is_no_text(text):
    with pytest.raises(TypeError, match="text: .* where a str or bytes"):
        kvedit.Registration.from_json(text)


@pytest.mark.parametrize("path", [None, 3, 0, b"a.json"])
def test_a_path_that_is_none(path):  # open(0) would read standard input
    with pytest.raises(TypeError, match="path: .* where a path"):
        kvedit.Registration.load(path)


def test_files_that_cannot_be_read(tmp_path):
    """What the file system says comes through as it is; what it cannot be asked is said by name."""
    with pytest.raises(FileNotFoundError) as raised:
        kvedit.Registration.load(tmp_path / "none.json")
    assert raised.value.filename == str(tmp_path / "none.json")
    with pytest.raises(IsADirectoryError):
        kvedit.Registration.load(tmp_path)


@pytest.mark.parametrize("path", ["a\0b.json", "", "\ud800.json", Path("a\0")])
@pytest.mark.parametrize(
    ("name", "call"),
    [("path", kvedit.Registration.load),
     ("packs[0]", lambda path: kvedit.Host(packs=[path])),
     ("rule_dirs[1]", lambda path: kvedit.Host(rule_dirs=["/", path])),
     ("standard_rules_dir", lambda path: kvedit.Host(standard_rules_dir=path))],
    ids=["load", "packs", "rule_dirs", "standard_rules_dir"],
)  # fmt: skip
def test_paths_that_no_file_can_have(name, call, path):
    with pytest.raises(kvedit.Error) as raised:
        call(path)
    assert raised.value.where == name
    assert str(raised.value).startswith(f"{name}: {str(path)!r} is no path that a file can have")


def test_what_is_no_config_of_vllm():
    config, caches = small()
    make, live = kvedit.Registration.from_vllm, kvedit.Host().edit_live
    for call in make, live:
        for wrong in (None, 3, "config", [], object()):
            with pytest.raises(TypeError, match="^kv_cache_config: .* without kv_cache_groups where"):
                call(wrong, caches)
            if wrong is not None:
                with pytest.raises(TypeError, match="^vllm_config: .* without parallel_config where"):
                    call(config, caches, vllm_config=wrong)
        for wrong in (3, ["NHD"], b"NHD", object()):
            with pytest.raises(TypeError, match="^layout: .* where the name of a layout"):
                call(config, caches, layout=wrong)
    for wrong in (3, b"0.32", (0, 32)):
        with pytest.raises(TypeError, match="^engine_version: .* where a str is wanted"):
            make(config, caches, engine_version=wrong)


@pytest.mark.parametrize("ids", ["ab", "0", b"\0", None, {1, 2}, {1: 2}])
def test_block_ids_that_are_no_text(result, ids):
    with pytest.raises(TypeError, match="block_ids: .* where a list or an array of ints"):
        result.pages[LAYER].addresses(ids)


class NoArray:
    def __array__(self, *_, **__):
        raise RuntimeError("on another device")


@pytest.mark.parametrize(
    "ids",
    [3, 1.5, True, [1.5], [True], ["0"], [None], [[0]], [[0], [1, 2]], iter([0]), object(), np.int64(3),
     np.array(["a"]), np.zeros((2, 2), int), np.array([0], "datetime64[s]"), [object()]],
    ids=str,
)  # fmt: skip
def test_block_ids_that_are_no_list_of_ints(result, ids):
    with pytest.raises(TypeError, match="^block_ids: .* where a list or an array of ints is wanted$"):
        result.pages[LAYER].addresses(ids)


def test_block_ids_that_raise(result):
    with pytest.raises(TypeError, match="^block_ids: a value of type NoArray .*on another device"):
        result.pages[LAYER].addresses(NoArray())


@pytest.mark.parametrize("ids", [[1 << 63], [0, 1 << 70], [-1 << 70], np.array([1 << 63], np.uint64), [1 << 63, -1]])
def test_block_ids_that_are_too_large(result, ids):
    with pytest.raises(kvedit.Error, match="^block_ids: -?[0-9]+ does not fit in 64 bits with sign$"):
        result.pages[LAYER].addresses(ids)


@pytest.mark.parametrize("count", ["x", None, 1.0, True, [1]])
def test_counts_that_are_no_number(result, count):
    with pytest.raises(TypeError, match="^count: .* where a number of blocks .int. is wanted$"):
        result.address_map(LAYER).capacity(count)


@pytest.mark.parametrize("count", [-1, 1 << 63, 1 << 70])
def test_counts_that_cannot_be(result, count):
    with pytest.raises(kvedit.Error, match=f"^count: {count} blocks; 0 to [0-9]+ can be$"):
        result.address_map(LAYER).capacity(count)
    assert result.address_map(LAYER).capacity(np.int32(2)) == 2 == result.address_map(LAYER).capacity(2)


@pytest.mark.parametrize("bases", [[0], 0, "s0"])
def test_bases_that_are_no_mapping(result, bases):
    with pytest.raises(TypeError, match="bases: .* where a dict of storage to address"):
        result.pages[LAYER].addresses([0], bases)


def test_addresses_that_are_none(result):
    storage = result.registration.storages[0]
    others = dict.fromkeys(result.registration.storages, 0)
    for wrong in ("0", 1.5, None, True):
        with pytest.raises(TypeError, match="where an address"):
            result.address_map(LAYER, {**others, storage: wrong})
    for wrong in (-1, 1 << 64):
        with pytest.raises(kvedit.Error, match="no address of 64 bits"):
            result.address_map(LAYER, {**others, storage: wrong})
    based = result.address_map(LAYER, {**others, storage: np.int64(4096)})
    assert len(based.extents([0])) == 1


@pytest.mark.parametrize(
    "layers", [None, 3.5, 0.0, True, b"a", {LAYER: 1}, {LAYER}, frozenset([LAYER]), np.array([0]), object()]
)
def test_layers_that_are_none(result, layers):
    wanted = "^layers: .* where a layer, a list of layers or the number of a group is wanted$"
    with pytest.raises(TypeError, match=wanted):
        result.address_map(layers)


@pytest.mark.parametrize("layers", [[3], [LAYER, None], [[LAYER]], (b"a",)])
def test_lists_of_other_things_than_layers(result, layers):
    with pytest.raises(TypeError, match=r"^layers\[[01]\]: .* where a str is wanted$"):
        result.address_map(layers)


@pytest.mark.parametrize("group", [-1, 4, 9, 1 << 70, np.int64(-1)])
def test_groups_that_are_none(result, group):
    with pytest.raises(kvedit.Error, match=f"^layers: {group} is no group; there are 0 to 3$"):
        result.address_map(group)


def test_a_group_without_pages():
    result = kvedit.Host().edit(kvedit.Registration.from_json(GIVEN["host-resident-source"].text))
    with pytest.raises(kvedit.Error, match="^group 2: it is excluded, no layer of it has pages$"):
        result.address_map(2)


def test_no_layers_at_all(result):
    """A transfer of nothing looks like one that is done."""
    for none in ([], (), iter([])):
        with pytest.raises(kvedit.Error, match="^layers: none is given; give a layer, "):
            result.address_map(none)


def test_numbers_of_groups_are_of_any_kind(result):
    assert result.address_map(np.int32(3)).block_bytes == result.address_map(3).block_bytes


def test_orders_that_are_none(result):
    for wrong in (3, None, ["layer_major"]):
        with pytest.raises(TypeError, match="^order: .* where a str is wanted$"):
            result.address_map(LAYER, order=wrong)
    with pytest.raises(kvedit.Error, match="order: 'LAYER_MAJOR' is neither"):
        result.address_map(LAYER, order="LAYER_MAJOR")


def test_memory_that_is_none(result):
    map = result.address_map(LAYER)
    for wrong in ([0, 0], np.zeros(9, np.uint64), np.zeros(9, [("address", "<u8"), ("length", "<u8")])):
        with pytest.raises(TypeError, match="out: .* where a numpy array of .*storage.* is wanted$"):
            map.extents([0], out=wrong)
    good = np.zeros((2, 8), dtype=map.extents([0]).dtype)
    for wrong in (good, good[0, ::2]):
        with pytest.raises(kvedit.Error, match="^out: one contiguous axis is wanted"):
            map.extents([0], out=wrong)
    good.flags.writeable = False
    with pytest.raises(kvedit.Error, match="^out: .* cannot be written"):
        map.extents([0], out=good[0])
    for wrong in (None, [1], 3):
        with pytest.raises(TypeError, match="kv_caches: .* where a dict of layer to tensors"):
            result.bases(wrong)
        with pytest.raises(TypeError, match="kv_caches: .* where a dict of layer to tensors"):
            kvedit.Registration.from_vllm(object(), wrong)


def test_an_error_s_message_may_be_no_text():
    assert str(kvedit.Error(3)) == "3"


def test_explain_of_what_is_not_there(result):
    for wrong in (3, b"a", [LAYER], True):
        with pytest.raises(TypeError, match="^layer: .* where a str is wanted"):
            result.explain(layer=wrong)
    with pytest.raises(kvedit.Error, match="no such layer"):
        result.explain(layer="no.layer")
    with pytest.raises(TypeError, match="colours"):
        result.explain(colours="always")


@pytest.mark.parametrize("arguments", [(), (3,), (1, 2), (None, None, None)])
@pytest.mark.parametrize(
    ("made", "by"),
    [(kvedit.AddressMap, "an AddressMap is made by Result.address_map"),
     (kvedit.Result, "a Result is made by Host.edit or Host.edit_live"),
     (kvedit.Registration, "a Registration is made by Registration.from_vllm, from_json or load")],
)  # fmt: skip
def test_classes_that_calls_make(made, by, arguments):
    with pytest.raises(TypeError, match=by):
        made(*arguments)
    with pytest.raises(TypeError, match=by):
        made(core=3)


HOSTILE = "at\x1b[31mtn\u009b2J\u202e\n\x7f"
SHOWN = "at\\x1b[31mtn\\u009b2J\\u202e\\x0a\\x7f"


def printable(text):
    assert all(line.isprintable() for line in text.split("\n")), repr(text)
    return text


def hostile():
    facts = GIVEN["live-v0320-llama"].facts
    name = facts["groups"][0]["layers"][0]
    return GIVEN["live-v0320-llama"].text.replace(f'"{name}"', json.dumps(HOSTILE))


def test_names_are_shown_and_not_obeyed():
    registration = kvedit.Registration.from_json(hostile())
    assert HOSTILE in registration.layers
    good = kvedit.Host().edit(registration)
    assert SHOWN in printable(good.explain()) and good.layers[HOSTILE].name == HOSTILE
    assert printable(good.to_json()) and printable(repr(good.layers[HOSTILE]))
    with pytest.raises(kvedit.Error) as raised:
        good.explain(layer=HOSTILE[::-1])
    assert "\\u202e" in printable(str(raised.value)) and printable(repr(raised.value))
    with pytest.raises(kvedit.Error) as raised:
        good.address_map(HOSTILE[::-1])
    assert "\\u202e" in printable(str(raised.value))

    facts = json.loads(hostile())
    facts["num_blocks"] += 1
    facts["model"] = HOSTILE
    registration = kvedit.Registration.from_json(json.dumps(facts))
    assert SHOWN in printable(repr(registration))
    said = []
    host = kvedit.Host(log=lambda level, message: said.append(message))
    wrong = host.edit(registration)
    assert any(SHOWN in printable(line) for line in said)
    with pytest.raises(kvedit.Error) as raised:
        wrong.raise_for_problems()
    assert SHOWN in printable(str(raised.value)) and printable(repr(raised.value))
    problem = raised.value.problems[0]
    assert problem.layer == HOSTILE
    assert SHOWN in printable(str(problem)) and printable(repr(problem))


def test_half_a_surrogate_pair():
    with pytest.raises(kvedit.Error, match="half a surrogate pair, '.ud800', at character 2"):
        kvedit.Registration.from_json('{"\ud800')
    error = kvedit.Error("a\ud800b")
    assert str(error) == "a\\ud800b"
    with pytest.raises(kvedit.Error, match="half a surrogate pair .* errors="):
        kvedit.Host().edit(
            kvedit.Registration.from_json(GIVEN[NAME].text), profile="nat\ud800ive"
        )
