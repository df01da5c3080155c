import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from engines import Engines  # noqa: E402
from lmcache_server import LMCacheServer  # noqa: E402
from loopback import only_loopback  # noqa: E402

NETWORK = only_loopback()


def pytest_report_header(config):
    return f"sockets: {NETWORK}"


@pytest.fixture(scope="session")
def engines(tmp_path_factory):
    """Engine processes; see `Engines.run`."""
    with Engines(tmp_path_factory.mktemp("engines")) as started:
        started.start()
        yield started


@pytest.fixture
def model_folder(tmp_path_factory, request):
    """A folder whose name no other test has: what outlives an engine is told apart by it."""
    return str(tmp_path_factory.mktemp("model") / request.node.name.replace("[", "-").strip("]"))


@pytest.fixture(scope="session")
def lmcache_server(engines, tmp_path_factory):
    """A running LMCache server; started with the session, when a test wants it."""
    folder = tmp_path_factory.mktemp("lmcache")
    with LMCacheServer(folder, engines.environment) as started:
        yield started
