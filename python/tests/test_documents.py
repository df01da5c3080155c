"""The example of docs/python.md runs as it stands and prints what stands there."""

import contextlib
import io
import re

import pytest

from conftest import DATA


def test_the_example_without_an_engine():
    pytest.importorskip("torch")
    document = (DATA.parent.parent / "docs/python.md").read_text()
    section = document.split("## Without an engine")[1].split("\n## ")[0]
    code, printed = re.findall(r"```(?:python|text)\n(.*?)```", section, re.DOTALL)
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(code, "docs/python.md", "exec"), {"__name__": "example"})
    assert said.getvalue() == printed
