"""What `kv_connector_extra_config` may say, and how the rest is refused before an engine starts."""

import os
from pathlib import Path

import pytest

import kvedit
from kvedit.integrations import _capture
from kvedit.integrations._store.options import Options

BOTH = [Options, _capture.Options]


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [("kvedit.verify", "false", "'false' where true or false"),
     ("kvedit.verify", 0, "0 where true or false"),
     ("kvedit.threads", 0, "0 where a number from 1 to 1024"),
     ("kvedit.threads", 10**9, "1000000000 where a number from 1 to 1024"),
     ("kvedit.threads", "4", "'4' where a number"), ("kvedit.threads", True, "True where a number"),
     ("kvedit.threads", None, "None where a number"), ("kvedit.threads", 2.0, "2.0 where a number"),
     ("kvedit.unwritten_bytes", -1, "-1 where a number from 0 to 9223372036854775807"),
     ("kvedit.unwritten_bytes", 1 << 63, "9223372036854775808 where a number from 0 to 92"),
     ("kvedit.unwritten_bytes", 1.5, "1.5 where a number")],
)  # fmt: skip
def test_values_of_the_store(name, given, words):
    with pytest.raises(kvedit.Error, match=f"^{name}: {words}.* is wanted") as raised:
        Options.of({name: given})
    assert raised.value.where == name


def test_values_that_can_be():
    nothing = Options.of({})
    assert nothing == Options(folder=os.path.abspath("kvedit-store"))
    assert Options.of({"lmcache.mp.port": 1}) == nothing
    given = {"kvedit.threads": 1024, "kvedit.verify": False, "kvedit.unwritten_bytes": 0}
    given = Options.of(given)
    assert (given.threads, given.verify, given.unwritten_bytes) == (1024, False, 0)
    assert _capture.Options.of({}) == (os.path.abspath("kvedit-capture"), "native")


@pytest.mark.parametrize("of", BOTH)
def test_misspelt_options(of):
    with pytest.raises(kvedit.Error, match="kvedit.paht is no option; there are kvedit.path, "):
        of.of({"kvedit.paht": "/tmp"})


@pytest.mark.parametrize("of", BOTH)
@pytest.mark.parametrize("name", ["path", "kvedit_path", "kvedit-path", "KVEDIT.PATH", "kvedit.Path", "Path"])
def test_options_by_another_name(of, name):
    """A folder that is not used, because its option was passed over, is missed too late."""
    with pytest.raises(kvedit.Error, match=f"^{name} is no option; did you mean kvedit.path.$") as raised:
        of.of({name: "/tmp"})
    assert raised.value.where == name


@pytest.mark.parametrize(
    ("name", "meant"),
    [("unwritten-bytes", "kvedit.unwritten_bytes"), ("threads", "kvedit.threads"),
     ("model", "kvedit.model"), ("kvedit_verify", "kvedit.verify")],
)  # fmt: skip
def test_options_of_the_store_by_another_name(name, meant):
    with pytest.raises(kvedit.Error, match=f"did you mean {meant}.$"):
        Options.of({name: 1})


@pytest.mark.parametrize("of", BOTH)
def test_options_of_others(of):
    for name in ("lmcache.mp.port", "connectors", "lmcache.path", "my_path", "profile.path", 3):
        assert of.of({name: 1}) == of.of({})


@pytest.mark.parametrize("given", [None, 3, "widescreen", "", "Native", ["native"], b"native"])
def test_profiles_that_are_none(given):
    words = "^kvedit.profile: .* where one of native, packed, bytes, lmcache is wanted$"
    with pytest.raises(kvedit.Error, match=words) as raised:
        _capture.Options.of({"kvedit.profile": given})
    assert raised.value.where == "kvedit.profile" and repr(given) in str(raised.value)


@pytest.mark.parametrize("profile", ["native", "packed", "bytes", "lmcache"])
def test_profiles_are_those_of_an_edit(profile, host, qwen):
    assert _capture.Options.of({"kvedit.profile": profile}).profile == profile
    assert host.edit(kvedit.Registration.from_json(qwen.text), profile=profile).registration


@pytest.mark.parametrize("of", BOTH)
@pytest.mark.parametrize("given", [None, 3, b"/tmp", "", "  ", "/tmp/\0", ["/tmp"], "/tmp/\ud800"])
def test_what_is_no_path(of, given):
    with pytest.raises(kvedit.Error, match="kvedit.path: .* where the path of a folder.* is"):
        of.of({"kvedit.path": given})


@pytest.mark.parametrize("of", BOTH)
def test_a_path_is_made_absolute(of, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/me")
    for given, path in (
        ("/a/b", "/a/b"), ("/a/../b/", "/b"), (Path("/a/b"), "/a/b"), ("b", f"{tmp_path}/b"),
        ("./~", f"{tmp_path}/~"), ("~", "/home/me"), ("~/b", "/home/me/b"), ("/a/~", "/a/~"),
    ):  # fmt: skip
        assert of.of({"kvedit.path": given}).folder == path
    with pytest.raises(kvedit.Error, match="'~nobody-has-this/b': there is no home .* './~nobody"):
        of.of({"kvedit.path": "~nobody-has-this/b"})


@pytest.mark.parametrize(
    "given", ["llama", "org/model-8B_v2.1", "a b", "Zürich", "x" * 256, "org/model:latest@3+lora"]
)
def test_names_of_models(given):
    assert Options.of({"kvedit.model": given}).model == given
    assert Options.of({"kvedit.model": None}).model is None


@pytest.mark.parametrize(
    "given",
    ["", " ", "../../etc", "/models/llama", "~/llama", "org/../other", "a//b", "a/", ".", "a\nb",
     "a\0", 3, b"llama", Path("llama")],
)  # fmt: skip
def test_what_is_no_name_of_a_model(given):
    with pytest.raises(kvedit.Error, match="^kvedit.model: .* where a name of 1 to 256 characters"):
        Options.of({"kvedit.model": given})


def test_a_name_that_is_too_long_says_how_long():
    with pytest.raises(kvedit.Error, match="kvedit.model: 257 characters where a name of 1 to 256"):
        Options.of({"kvedit.model": "x" * 257})
