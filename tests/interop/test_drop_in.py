"""kvedit's drop-in under LMCache's own detection, and beside LMCache's own edits.

Every registration of the tests, rebuilt with vLLM's spec classes and tensors without memory.
"""

import pytest

pytest.importorskip("vllm")
pytest.importorskip("lmcache")

import kvedit  # noqa: E402
import side_by_side as sides  # noqa: E402
import vllm_objects  # noqa: E402

pytestmark = pytest.mark.engines
NAMES = sides.names()


def is_of_installed_version(name):
    return vllm_objects.version_of(sides.case(name).registration) == vllm_objects.LATEST


# Right, and nothing LMCache could be shown would be read rightly: what the refusal must say. The
# registrations of tests/field say it themselves.
NOT_FOR_LMCACHE = {
    "host-resident-source": "host_resident",
    "kv-tuple-two-allocations": "a list of 2 tensors",
    "list-planes-apart": "a list of 2 tensors",
    "live-v0320-gemma3": "window of 64 tokens",
    "llama-lhbnc": "layout LHBNC",
}
# What engine objects cannot say: a placement names no storage; a cache of no group is LMCache's own
# business, which leaves it out.
NOT_SEEN = {"field/refused-placement-in-another-storage", "field/refused-draft-layer-of-no-group"}


@pytest.fixture(params=NAMES)
def name(request):
    return request.param


def predicted(case):
    """What kvedit says of the same objects."""
    registration = kvedit.Registration.from_vllm(
        case.config, case.caches, layout=case.hints.get("kv_layout"),
        vllm_config=sides.vllm_config(case.dcp))  # fmt: skip
    return kvedit.Host().edit(
        registration, profile="lmcache", pass_ungrouped=True,
        recurrent_rows="page" if case.memory else "tight")  # fmt: skip


@pytest.mark.parametrize("name", [each for each in NAMES if is_of_installed_version(each)])
def test_specs_of_the_installed_version_are_its_own(name):
    case = sides.case(name)
    for group in case.config.kv_cache_groups:
        leaves = getattr(group.kv_cache_spec, "kv_cache_specs", None) or {"": group.kv_cache_spec}
        for layer, spec in leaves.items():
            own = vllm_objects.is_engines_own(spec)
            assert own or name in STATED_OTHERWISE, (layer, vars(type(spec)))


# Layers that are not to be moved, of specs that are written by hand and leave fields out.
STATED_OTHERWISE = {"host-resident-source", "field/draft-block-of-three-caches",
                    "field/resident-hot-and-source-pages",
                    "field/ring-of-eight-tokens-beside-blocks-of-32"}  # fmt: skip


def test_lmcache_derives_what_was_predicted(name):
    case, ours = sides.case(name), sides.ours_of(name)
    result = predicted(case)
    assert result.ok == (ours.verdict != "refused")
    if not result.ok:
        return
    read_backs = {layer["name"]: layer["read_back"] for layer in result.report()["layers"]
                  if "read_back" in layer}  # fmt: skip
    derived = {layer: {key: value for key, value in read.items() if key != "tokens"}
               for layer, read in ours.reads.items()}  # fmt: skip
    assert ours.error is None, ours.why
    assert {layer: derived[layer] for layer in read_backs} == read_backs
    assert set(read_backs) == set(case.served) or name in NOT_SEEN
    more = set(derived) - set(read_backs)
    assert all(result.layers[layer].outcome == "excluded" for layer in more)


def test_what_is_moved_is_what_a_block_owns(name):
    """Bytes, tokens and slots as `expected` has them, counted from what LMCache derived."""
    case, ours = sides.case(name), sides.ours_of(name)
    if name in NOT_SEEN or ours.verdict == "refused":
        return
    assert ours.verdict == "right", ours.why


def test_what_is_refused_is_refused_for_what_is_wrong(name):
    case, ours = sides.case(name), sides.ours_of(name)
    if ours.verdict != "refused":
        assert not case.refused_as or name in NOT_SEEN
        assert not case.refused_for_lmcache and case.name not in NOT_FOR_LMCACHE
        return
    assert isinstance(ours.error, kvedit.Error) and isinstance(ours.error, ValueError)
    errors = [each for each in ours.error.problems if each.severity == "error"]
    assert errors and all(each.message in str(ours.error) for each in errors)
    codes = {each.code for each in errors}
    if case.refused_as:
        assert codes & case.refused_as and codes <= case.refused_as | {"profile"}
        return
    assert codes == {"profile"}
    assert case.refused_for_lmcache or NOT_FOR_LMCACHE[case.name] in str(ours.error)


def test_where_lmcache_is_right_the_views_are_the_same(name):
    theirs = sides.theirs_of(name)
    if theirs.verdict != "right":
        return
    case, ours = sides.case(name), sides.ours_of(name)
    assert ours.verdict == "right", ours.why
    assert sides.same_views(ours.views, theirs.views)
    for layer, given in case.caches.items():
        assert (ours.views[layer] is given) == (theirs.views[layer] is given)


def test_where_lmcache_is_not_right_kvedit_is(name):
    """Or it refuses what no view makes right, before LMCache does or silently does not."""
    theirs = sides.theirs_of(name)
    if theirs.verdict == "right":
        return
    case, ours = sides.case(name), sides.ours_of(name)
    unserved = bool(case.refused_as or case.refused_for_lmcache or case.name in NOT_FOR_LMCACHE)
    assert ours.verdict == ("refused" if unserved else "right") or name in NOT_SEEN, ours.why
