"""scikit-build-core, with an sdist that carries the C++ sources.

They lie above this folder, where an sdist cannot reach. It is therefore made from a copy of the
project that has them in `source`, links resolved; CMakeLists.txt looks there first. Wheels are built
in place.
"""

import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path

from scikit_build_core import build as _build
from scikit_build_core.build import (
    build_editable,
    build_wheel,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

PROJECT = Path(__file__).resolve().parent.parent
CARRIED = ("CMakeLists.txt", "LICENSE", "cmake", "core", "plugins", "sdk")
NOT_CARRIED = shutil.ignore_patterns("__pycache__", "build", "dist", ".*_cache", "source")


@contextmanager
def _working_in(folder):
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def _sources():
    carried = PROJECT / "source"
    return carried if carried.exists() else PROJECT.parent


def _copy(origin, target):
    if origin.is_dir():
        shutil.copytree(origin, target, ignore=NOT_CARRIED)
    else:
        shutil.copyfile(origin, target)


def build_sdist(sdist_directory, config_settings=None):
    made_in = os.path.abspath(sdist_directory)
    with tempfile.TemporaryDirectory(prefix="kvedit-sdist-") as folder:
        project = Path(folder) / "kvedit"
        shutil.copytree(PROJECT, project, ignore=NOT_CARRIED)
        (project / "source").mkdir()
        for name in CARRIED:
            _copy(_sources() / name, project / "source" / name)
        with _working_in(project):
            return _build.build_sdist(made_in, config_settings)
