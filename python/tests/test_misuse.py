"""What a user may give by mistake is said by name, and never read as something else."""

import json
from pathlib import Path

import numpy as np
import pytest
from conftest import GIVEN

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


@pytest.mark.parametrize("ids", ["ab", "0", b"\0", None, {1, 2}, {1: 2}])
def test_block_ids_that_are_no_list(result, ids):
    with pytest.raises(TypeError, match="block_ids: .* where a list or an array of ints"):
        result.pages[LAYER].addresses(ids)


@pytest.mark.parametrize("bases", [[0], 0, "s0"])
def test_bases_that_are_no_mapping(result, bases):
    with pytest.raises(TypeError, match="bases: .* where a dict of storage to address"):
        result.pages[LAYER].addresses([0], bases)


def test_addresses_that_are_none(result):
    storage = result.registration.storages[0]
    others = dict.fromkeys(result.registration.storages, 0)
    for wrong in ("0", 1.5, None):
        with pytest.raises(TypeError, match="where an address"):
            result.address_map(LAYER, {**others, storage: wrong})
    for wrong in (-1, 1 << 64):
        with pytest.raises(kvedit.Error, match="no address of 64 bits"):
            result.address_map(LAYER, {**others, storage: wrong})
    based = result.address_map(LAYER, {**others, storage: np.int64(4096)})
    assert len(based.extents([0])) == 1


@pytest.mark.parametrize("layers", [None, 3.5, True, b"a", {LAYER: 1}, [3], [None]])
def test_layers_that_are_none(result, layers):
    with pytest.raises(TypeError, match="layers"):
        result.address_map(layers)


def test_memory_that_is_none(result):
    with pytest.raises(TypeError, match="out: .* where a numpy array"):
        result.address_map(LAYER).extents([0], out=[0, 0])
    for wrong in (None, [1], 3):
        with pytest.raises(TypeError, match="kv_caches: .* where a dict of layer to tensors"):
            result.bases(wrong)
        with pytest.raises(TypeError, match="kv_caches: .* where a dict of layer to tensors"):
            kvedit.Registration.from_vllm(object(), wrong)


def test_an_error_s_message_may_be_no_text():
    assert str(kvedit.Error(3)) == "3"


def test_explain_of_what_is_not_there(result):
    with pytest.raises(kvedit.Error):
        result.explain(layer=3)
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
