"""docs/lmcache.md says what is."""

import pytest

pytest.importorskip("vllm")
pytest.importorskip("lmcache")

import lmcache_table  # noqa: E402

pytestmark = pytest.mark.engines


def test_the_table_of_the_document_is_what_happens():
    text = lmcache_table.DOCUMENT.read_text()
    assert lmcache_table.written(text) == text, "run tests/interop/lmcache_table.py"


def test_every_difference_is_one_kvedit_is_right_about():
    kinds = lmcache_table.rows()
    assert set(kinds) <= set(lmcache_table.KINDS)
    assert len(kinds["same"]) > 90 and len(kinds["slots"]) > 30 and len(kinds["part"]) > 15
