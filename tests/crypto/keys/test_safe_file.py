"""Secrets reach the disk whole, under no other mode, through no link; what others could read is not read."""

import os
import stat
import traceback

import pytest

from sapefl_crypto.errors import KeyRejected
from sapefl_crypto.keys import safe_file
from sapefl_crypto.secret import Secret

CONTENT = b"the-content-nobody-may-see"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "words"


@pytest.fixture
def written(path):
    safe_file.write(path, Secret(CONTENT), mode=safe_file.PRIVATE)
    return path


def test_a_private_file_comes_back_until_others_can_read_it(written):
    assert safe_file.read_private(written).reveal() == CONTENT
    written.chmod(0o644)
    with pytest.raises(KeyRejected, match="0644"):
        safe_file.read_private(written)


def test_symbolic_links_are_refused(written, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(written)
    with pytest.raises(KeyRejected, match="symbolic link"):
        safe_file.read(link)


def test_things_that_are_no_files_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for thing in (tmp_path, tmp_path / "pipe", tmp_path / "absent", tmp_path / "absent" / "deeper"):
        with pytest.raises(KeyRejected, match=str(thing)):
            safe_file.read(thing)


def test_enormous_files_are_not_read(path):
    path.touch(0o600)
    os.truncate(path, 2**40)
    with pytest.raises(KeyRejected, match="at most"):
        safe_file.read(path)


def test_an_existing_file_stays_until_its_replacement_is_asked_for(written):
    with pytest.raises(KeyRejected, match="exists and was not touched"):
        safe_file.write(written, Secret(b"new"), mode=safe_file.PRIVATE)
    assert written.read_bytes() == CONTENT
    assert list(written.parent.iterdir()) == [written]
    written.chmod(0o666)
    safe_file.write(written, Secret(b"new"), mode=safe_file.PRIVATE, replace=True)
    assert (written.read_bytes(), stat.S_IMODE(written.stat().st_mode)) == (b"new", 0o600)


def test_a_dangling_link_is_not_written_through(path, tmp_path):
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(KeyRejected, match="exists"):
        safe_file.write(path, Secret(CONTENT), mode=safe_file.PRIVATE)
    safe_file.write(path, Secret(CONTENT), mode=safe_file.PRIVATE, replace=True)
    assert not path.is_symlink()
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("step", ["fsync", "fchmod"])
def test_a_failed_write_leaves_the_old_file_no_litter_and_no_secret_in_the_traceback(written, monkeypatch, step):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(KeyRejected, match="no space left") as caught:
        safe_file.write(written, Secret(b"another-secret"), mode=safe_file.PRIVATE, replace=True)
    assert written.read_bytes() == CONTENT
    assert list(written.parent.iterdir()) == [written]
    trace = traceback.TracebackException.from_exception(caught.value, capture_locals=True)
    inside = [frame.locals for frame in trace.stack if "sapefl_crypto" in frame.filename]
    assert inside
    assert "another-secret" not in str(inside)


def test_the_content_is_on_disk_before_it_gets_its_name(path, monkeypatch):
    events = []
    fsync, link = os.fsync, os.link
    monkeypatch.setattr(os, "fsync", lambda fd: (events.append("fsync"), fsync(fd)))
    monkeypatch.setattr(os, "link", lambda *a, **k: (events.append("link"), link(*a, **k)))
    safe_file.write(path, Secret(CONTENT), mode=safe_file.PRIVATE)
    assert events == ["fsync", "link", "fsync"]


def test_even_a_public_file_is_private_until_it_is_whole(path, monkeypatch):
    seen = []
    fchmod = os.fchmod
    monkeypatch.setattr(os, "fchmod", lambda fd, mode: (seen.append(os.fstat(fd).st_mode & 0o077), fchmod(fd, mode)))
    safe_file.write(path, Secret(CONTENT), mode=safe_file.PUBLIC)
    assert seen == [0]
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
