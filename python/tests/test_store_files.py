"""Files of blocks: whole, with the right name and bytes, or not there."""

import errno
import hashlib
import os
import threading

import numpy as np
import pytest

from kvedit.integrations._store.files import OVERHEAD, BlockFiles

NAME = "model/tp0-pcp0/kvx1-0123/ab/abcd.kv"
OTHER = "model/tp0-pcp0/kvx1-0123/ab/abce.kv"


def payload(size=1000, seed=1):
    return np.random.default_rng(seed).integers(0, 256, size, dtype=np.uint8)


@pytest.fixture
def files(tmp_path):
    return BlockFiles(str(tmp_path / "store"))


def reads(files, name=NAME, size=1000):
    into = np.zeros(size, np.uint8)
    return into if files.read(name, into) else None


@pytest.mark.parametrize("size", [0, 1, 1000, 1 << 20])
def test_what_is_written_is_read(files, size):
    written = payload(size)
    assert not files.has(NAME, size) and reads(files, size=size) is None
    files.write(NAME, written)
    assert files.has(NAME, size)
    assert reads(files, size=size).tolist() == written.tolist()
    assert os.path.getsize(files.path(NAME)) == OVERHEAD + size


def test_the_format_is_the_written_down_one(files):
    data = payload(50)
    files.write(NAME, data)
    with open(files.path(NAME), "rb") as file:
        found = file.read()
    before = (
        b"kvedit block 1\n\0" + hashlib.sha256(NAME.encode()).digest() + (50).to_bytes(8, "little")
    ) + data.tobytes()
    assert found == before + hashlib.blake2b(before, digest_size=32).digest()


def cut(path, data):
    path.write_bytes(data[: len(data) // 2])


def longer(path, data):
    path.write_bytes(data + b"\0")


def empty(path, data):
    path.write_bytes(b"")


def zeros(path, data):
    path.write_bytes(bytes(len(data)))


def torn(path, data):
    """Renamed before its bytes reached the disk."""
    path.write_bytes(data[: len(data) // 2] + bytes(len(data) - len(data) // 2))


def link(path, data):
    path.rename(path.with_suffix(".moved"))
    path.symlink_to(path.with_suffix(".moved"))


def folder(path, data):
    path.unlink()
    path.mkdir()


def pipe(path, data):
    path.unlink()
    os.mkfifo(path)


def older(path, data):
    path.write_bytes(data.replace(b"kvedit block 1", b"kvedit block 0"))


@pytest.mark.parametrize(
    "damage", [cut, longer, empty, zeros, torn, link, folder, pipe, older], ids=lambda f: f.__name__
)
def test_a_wrong_file_is_a_miss(files, tmp_path, damage):
    files.write(NAME, payload())
    path = tmp_path / "store" / NAME
    damage(path, path.read_bytes())
    if damage is not torn:  # that one has the right size and beginning
        assert not files.has(NAME, 1000)
    assert reads(files) is None
    files.write(NAME, payload(seed=2))
    assert reads(files).tolist() == payload(seed=2).tolist()


def test_every_flipped_bit_is_seen(files, tmp_path):
    files.write(NAME, payload(20))
    path = tmp_path / "store" / NAME
    good = path.read_bytes()
    for bit in range(8 * len(good)):
        bad = bytearray(good)
        bad[bit // 8] ^= 1 << bit % 8
        path.write_bytes(bad)
        assert reads(files, size=20) is None, bit
        assert not path.exists()  # so that the block is stored again


def full_folder(path, data):
    folder(path, data)
    (path / "mine").write_text("kept")


def test_a_folder_with_something_in_it_stays_a_miss(files, tmp_path):
    files.write(NAME, payload())
    path = tmp_path / "store" / NAME
    full_folder(path, b"")
    assert not files.has(NAME, 1000) and reads(files) is None
    with pytest.raises(IsADirectoryError, match="not empty"):
        files.write(NAME, payload())
    assert (path / "mine").read_text() == "kept"
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def there(files):
    """Names in the block's folder, without what the store is to be kept clean of."""
    return sorted(os.listdir(os.path.dirname(files.path(NAME))))


def test_a_good_file_that_another_put_there_is_not_removed(files, tmp_path, monkeypatch):
    """The other engine writes after the wrong bytes were read, and before their file is removed."""
    files.write(NAME, payload())
    path = tmp_path / "store" / NAME
    torn(path, path.read_bytes())
    fills = files._fills

    def other_writes(*given):
        found = fills(*given)
        BlockFiles(files.root).write(NAME, payload(seed=2))
        return found

    monkeypatch.setattr(files, "_fills", other_writes)
    assert reads(files) is None  # the wrong bytes are what this one has read
    monkeypatch.undo()
    assert reads(files).tolist() == payload(seed=2).tolist() and there(files) == ["abcd.kv"]


def test_a_good_file_that_another_puts_there_at_the_last_moment_is_put_back(
    files, tmp_path, monkeypatch
):
    """The other engine writes when the name was looked at already."""
    files.write(NAME, payload())
    path = tmp_path / "store" / NAME
    torn(path, path.read_bytes())
    rename, calls = os.rename, []

    def other_writes_first(*names):
        if not calls:
            BlockFiles(files.root).write(NAME, payload(seed=2))
        calls.append(names)
        rename(*names)

    monkeypatch.setattr(os, "rename", other_writes_first)
    assert reads(files) is None
    monkeypatch.undo()
    assert len(calls) == 2
    assert reads(files).tolist() == payload(seed=2).tolist() and there(files) == ["abcd.kv"]


def test_two_that_remove_the_same_file(files, tmp_path, monkeypatch):
    files.write(NAME, payload())
    path = tmp_path / "store" / NAME
    torn(path, path.read_bytes())
    fills = files._fills

    def other_removes(*given):
        assert reads(BlockFiles(files.root)) is None
        return fills(*given)

    monkeypatch.setattr(files, "_fills", other_removes)
    assert reads(files) is None and there(files) == []


@pytest.mark.parametrize("folder", [b"store\xff", b"\xed\xa0\x80", "Zürich 𝄞".encode(), b"a\nb"])
def test_folders_of_any_name(tmp_path, folder):
    """Whatever bytes the file system has for a name; `Options` refuses what it cannot have."""
    files = BlockFiles(os.path.join(str(tmp_path), os.fsdecode(folder)))
    files.write(NAME, payload())
    assert files.has(NAME, 1000) and reads(files) is not None
    assert os.listdir(os.fsencode(tmp_path)) == [folder]


@pytest.mark.parametrize("name", ["m/" + "ab" * 200 + ".kv", "m/" + "abcd/" * 1000 + "a.kv"])
def test_names_that_are_too_long_for_the_file_system(files, name):
    assert not files.has(name, 1000) and reads(files, name) is None
    with pytest.raises(OSError, match="too long"):
        files.write(name, payload())


def test_what_is_made_is_its_owner_s(tmp_path):
    before = os.umask(0)
    try:
        BlockFiles(str(tmp_path / "new" / "store")).write(NAME, payload())
    finally:
        os.umask(before)
    made = [path for path in tmp_path.rglob("*")]
    assert len(made) == 2 + len(NAME.split("/"))
    for path in made:
        assert path.stat().st_mode & 0o777 == (0o600 if path.is_file() else 0o700), path


def test_a_file_of_another_name_or_size_is_a_miss(files, tmp_path):
    files.write(NAME, payload())
    (tmp_path / "store" / OTHER).write_bytes((tmp_path / "store" / NAME).read_bytes())
    assert not files.has(OTHER, 1000) and reads(files, OTHER) is None
    assert not files.has(NAME, 999) and reads(files, size=999) is None


def test_what_may_not_be_read_is_a_miss(files, tmp_path, monkeypatch):
    files.write(NAME, payload())

    def denied(path, flags):
        raise PermissionError(errno.EACCES, "denied", path)

    monkeypatch.setattr(os, "open", denied)  # root may read whatever its mode says
    assert not files.has(NAME, 1000) and reads(files) is None
    monkeypatch.undo()

    def broken(*_):
        raise OSError(errno.EIO, "bad disk")

    monkeypatch.setattr(os, "preadv", broken)
    assert reads(files) is None
    monkeypatch.undo()
    assert reads(files) is not None  # and nothing was removed


def test_the_store_may_be_no_folder(tmp_path):
    (tmp_path / "store").write_text("")
    files = BlockFiles(str(tmp_path / "store"))
    assert not files.has(NAME, 1000) and reads(files) is None
    with pytest.raises(OSError):
        files.write(NAME, payload())


@pytest.mark.parametrize("fails", ["write", "replace"])
def test_a_full_disk_leaves_nothing_behind(files, tmp_path, monkeypatch, fails):
    def full(*_):
        raise OSError(errno.ENOSPC, "no space left")

    monkeypatch.setattr(os, fails, full)
    with pytest.raises(OSError, match="no space"):
        files.write(NAME, payload())
    monkeypatch.undo()
    assert [path for path in (tmp_path / "store").rglob("*") if path.is_file()] == []


def test_short_writes_are_continued(files, monkeypatch):
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, data: write(file, bytes(data)[:7]))
    files.write(NAME, payload())
    monkeypatch.undo()
    assert reads(files).tolist() == payload().tolist()


def test_writers_and_readers_do_not_disturb_each_other(files):
    """A file is there whole whoever writes it; contents of one name are equal in use, here they are
    not, so that a mixture would show."""
    variants = [payload(1 << 16, seed) for seed in range(4)]
    wanted = {each.tobytes() for each in variants}
    seen, stop = [], threading.Event()

    def write(data):
        while not stop.is_set():
            files.write(NAME, data)

    def read():
        while not stop.is_set():
            found = reads(files, size=1 << 16)
            if found is not None:
                seen.append(found.tobytes())

    threads = [threading.Thread(target=write, args=(each,)) for each in variants]
    threads += [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    stop.wait(1)
    stop.set()
    for thread in threads:
        thread.join()
    assert seen and set(seen) <= wanted
    assert reads(files, size=1 << 16) is not None
