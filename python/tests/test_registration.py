"""Reading and writing `kvedit.registration/1`."""

import copy
import json
import pickle

import pytest

import kvedit
from conftest import GIVEN


def facts_of(registration):
    return json.loads(registration.to_json())


def test_what_is_written_reads_back_the_same(host, given):
    registration = kvedit.Registration.from_json(given.text)
    again = kvedit.Registration.from_json(registration.to_json())
    assert again.to_json() == registration.to_json()
    assert facts_of(registration)["caches"] == given.facts["caches"]
    assert host.edit(again).to_json() == host.edit(registration).to_json()
    assert list(registration.layers) == list(given.facts["caches"])
    assert list(registration.storages) == list(given.facts["storages"])
    assert registration.num_blocks == given.facts["num_blocks"]


def test_bytes_texts_files_and_pickles_are_the_same(qwen):
    text = kvedit.Registration.from_json(qwen.text)
    assert kvedit.Registration.from_json(qwen.text.encode()).to_json() == text.to_json()
    assert kvedit.Registration.from_json(memoryview(qwen.text.encode())).to_json() == text.to_json()
    assert kvedit.Registration.load(qwen.path).to_json() == text.to_json()
    assert pickle.loads(pickle.dumps(text)).to_json() == text.to_json()
    assert copy.deepcopy(text).to_json() == text.to_json()
    assert text.engine == ("vllm", "0.32.0") and text.layout == "LBNHC"


def damaged(change):
    facts = json.loads(GIVEN["qwen3.5-0.8b-flashinfer-nhd"].text)
    change(facts)
    return json.dumps(facts)


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (lambda f: f.pop("num_blocks"), ""),
        (lambda f: f.update(num_blocks=64.5), "/num_blocks"),
        (lambda f: f.update(layout="NHDC"), "/layout"),
        (lambda f: f["groups"][3]["spec"].update(block_size="544"), "/groups/3/spec/block_size"),
        (lambda f: f["caches"]["model.layers.0.linear_attn"].update(dtype="int9"),
         "/caches/model.layers.0.linear_attn/dtype"),
        (lambda f: f.update(schema="kvedit.registration/2"), "/schema"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_carries_the_pointer(change, where):
    with pytest.raises(kvedit.Error) as raised:
        kvedit.Registration.from_json(damaged(change))
    assert raised.value.where.startswith(where) and raised.value.problems == ()
    assert raised.value.where in str(raised.value)
    again = pickle.loads(pickle.dumps(raised.value))
    assert (str(again), again.where) == (str(raised.value), raised.value.where)


def test_no_json_no_text_no_utf8():
    for wrong in ("", "{", "[]", b"\xff\xfe", '{"a": 1, "a": 2}', "\ud800"):
        with pytest.raises(kvedit.Error):
            kvedit.Registration.from_json(wrong)
    with pytest.raises(TypeError):
        kvedit.Registration.from_json(None)
    with pytest.raises(TypeError, match="from_vllm"):
        kvedit.Registration()


def test_the_core_makes_no_objects_on_its_own():
    from kvedit import _core

    for name in ("Registration", "Host", "Result", "AddressMap"):
        with pytest.raises(TypeError):
            getattr(_core, name)()
    host = kvedit.Host()
    with pytest.raises((kvedit.Error, TypeError, AttributeError)):
        host.edit("no registration")


def test_an_error_is_a_value_error():
    assert issubclass(kvedit.Error, ValueError) and kvedit.KvEditError is kvedit.Error
