"""Folders and files that connectors make: private, whole, and tried before an engine needs them."""

import errno
import os
import stat
import tempfile

import pytest

import kvedit
from kvedit.integrations._folders import check_usable, make_private, write_whole


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def no_umask():
    before = os.umask(0)
    yield
    os.umask(before)


def test_every_folder_that_is_made_is_its_owner_s(tmp_path, no_umask):
    tmp_path.chmod(0o755)
    make_private(str(tmp_path / "a" / "b" / "c"))
    assert [mode(tmp_path / each) for each in ("a", "a/b", "a/b/c")] == [0o700] * 3
    assert mode(tmp_path) == 0o755
    (tmp_path / "a").chmod(0o750)
    make_private(str(tmp_path / "a" / "b" / "c"))
    make_private(str(tmp_path / "a" / "d"))
    assert (mode(tmp_path / "a"), mode(tmp_path / "a" / "d")) == (0o750, 0o700)


def test_another_makes_the_folders_at_the_same_time(tmp_path, monkeypatch):
    """Between the failure of mkdir and the look at what is missing."""
    mkdir = os.mkdir

    def late(path, mode):
        monkeypatch.setattr(os, "mkdir", mkdir)
        os.makedirs(tmp_path / "a" / "b")
        raise FileNotFoundError(errno.ENOENT, "none", path)

    monkeypatch.setattr(os, "mkdir", late)
    make_private(str(tmp_path / "a" / "b" / "c"))
    assert (tmp_path / "a" / "b" / "c").is_dir()


@pytest.mark.parametrize("asked", [0o600, 0o644])
def test_a_file_has_the_mode_that_is_asked(tmp_path, no_umask, asked):
    write_whole(str(tmp_path / "file"), [b"one", memoryview(b" two")], asked)
    assert (tmp_path / "file").read_bytes() == b"one two" and mode(tmp_path / "file") == asked


def test_a_file_is_whole_or_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_whole(str(path), [b"before"])

    def full(*_):
        raise OSError(errno.ENOSPC, "full")

    for fails in ("write", "replace"):
        monkeypatch.setattr(os, fails, full)
        with pytest.raises(OSError, match="full"):
            write_whole(str(path), [b"after"])
        monkeypatch.undo()
        assert path.read_bytes() == b"before"
        assert [each.name for each in tmp_path.iterdir()] == ["file"]


def test_a_folder_in_the_file_s_place_gives_way_when_it_is_empty(tmp_path):
    path = tmp_path / "file"
    path.mkdir()
    write_whole(str(path), [b"bytes"])
    assert path.read_bytes() == b"bytes"
    path.unlink()
    (path / "mine").mkdir(parents=True)
    with pytest.raises(IsADirectoryError, match="not empty.*remove it.*file'"):
        write_whole(str(path), [b"bytes"])
    assert [each.name for each in tmp_path.rglob("*")] == ["file", "mine"]


def test_a_folder_that_can_be_used(tmp_path, no_umask):
    for writes in (True, False):
        folder = tmp_path / str(writes) / "store"
        for _ in range(2):
            check_usable("kvedit.path", str(folder), writes=writes)
        assert mode(folder) == mode(folder.parent) == 0o700 and not list(folder.iterdir())


def below_a_file(tmp_path):
    return tmp_path / "file" / "store"


def a_file(tmp_path):
    return tmp_path / "file"


def a_link_to_nowhere(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "gone")
    return tmp_path / "link"


@pytest.mark.parametrize("make", [a_file, below_a_file, a_link_to_nowhere])
@pytest.mark.parametrize("writes", [True, False])
def test_what_is_no_folder_is_refused(tmp_path, make, writes):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(kvedit.Error, match="^kvedit.path: .* is no folder .*; give") as raised:
        check_usable("kvedit.path", str(make(tmp_path)), writes=writes)
    assert raised.value.where == "kvedit.path" and str(tmp_path) in str(raised.value)
    assert (tmp_path / "file").read_text() == "mine"


def test_a_file_system_that_takes_no_folder():
    """`/proc`, which no user may write to, whoever runs this."""
    for writes in (True, False):
        with pytest.raises(kvedit.Error, match="/proc/kvedit/store cannot be made .*; give"):
            check_usable("kvedit.path", "/proc/kvedit/store", writes=writes)
    with pytest.raises(kvedit.Error, match="/proc cannot be written .*kv_role kv_consumer"):
        check_usable("kvedit.path", "/proc", writes=True)
    check_usable("kvedit.path", "/proc", writes=False)


@pytest.mark.parametrize(
    ("error", "refused"),
    [(errno.EACCES, True), (errno.EROFS, True), (errno.ENOSPC, False), (errno.EDQUOT, False)],
)
def test_a_full_disk_keeps_no_engine_from_starting(tmp_path, monkeypatch, error, refused):
    def fails(**_):
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr(tempfile, "mkstemp", fails)
    check_usable("kvedit.path", str(tmp_path), writes=False)
    if refused:
        with pytest.raises(kvedit.Error, match=os.strerror(error)):
            check_usable("kvedit.path", str(tmp_path), writes=True)
    else:
        check_usable("kvedit.path", str(tmp_path), writes=True)
