"""Downloads against a server that drops lines, answers 500 and serves the wrong bytes."""

import hashlib
from pathlib import Path

import pytest

from secure_sapefl.data.fetch import ATTEMPTS, Fetcher
from secure_sapefl.errors import BadInput, DataUnavailable

BODY = bytes(range(256)) * 1000
MD5 = f"md5:{hashlib.md5(BODY).hexdigest()}"


@pytest.fixture
def fetcher(tmp_path: Path) -> Fetcher:
    return Fetcher(folder=tmp_path / "downloads" / "set", pause=lambda seconds: None)


def test_a_file_arrives_whole_and_progress_is_told(site, tmp_path):
    site.files["/a.bin"] = BODY
    seen = []
    fetcher = Fetcher(folder=tmp_path, progress=lambda *event: seen.append(event))
    path = fetcher.file(site.url + "a.bin", "a.bin", MD5)
    assert path.read_bytes() == BODY
    assert seen[-1] == ("a.bin", len(BODY), len(BODY))
    assert [file.name for file in tmp_path.iterdir()] == ["a.bin"]


def test_a_verified_file_is_not_downloaded_again(site, fetcher):
    site.files["/a.bin"] = BODY
    fetcher.file(site.url + "a.bin", "a.bin", MD5)
    fetcher.file(site.url + "a.bin", "a.bin", MD5)
    assert len(site.ranges) == 1


def test_a_server_error_is_retried_with_growing_pauses(site, tmp_path):
    site.files["/a.bin"], site.statuses = BODY, [500, 503]
    pauses = []
    path = Fetcher(folder=tmp_path, pause=pauses.append).file(site.url + "a.bin", "a.bin", MD5)
    assert path.read_bytes() == BODY
    assert pauses == [0.5, 1.0]


def test_a_dropped_line_is_resumed_where_it_broke(site, fetcher):
    site.files["/a.bin"], site.cut_after = BODY, [100_000]
    assert fetcher.file(site.url + "a.bin", "a.bin", MD5).read_bytes() == BODY
    assert site.ranges == [None, "bytes=100000-"]


def test_a_server_that_cannot_resume_starts_again(site, fetcher):
    site.files["/a.bin"], site.cut_after, site.resumable = BODY, [100_000], False
    assert fetcher.file(site.url + "a.bin", "a.bin", MD5).read_bytes() == BODY
    assert site.ranges == [None, "bytes=100000-"]


def test_a_file_that_stays_truncated_is_refused(site, fetcher):
    site.files["/a.bin"], site.cut_after, site.resumable = BODY, [10] * ATTEMPTS, False
    with pytest.raises(DataUnavailable, match=r"ended after 10 of 256,000 bytes"):
        fetcher.file(site.url + "a.bin", "a.bin", MD5)
    assert not (fetcher.folder / "a.bin").exists()


def test_a_wrong_checksum_is_refused_and_nothing_is_kept(site, fetcher):
    site.files["/a.bin"] = BODY[:-1] + b"!"
    with pytest.raises(DataUnavailable, match=r"checksum is md5:.*, expected md5:"):
        fetcher.file(site.url + "a.bin", "a.bin", MD5)
    assert list(fetcher.folder.iterdir()) == []
    assert len(site.ranges) == ATTEMPTS


def test_a_stale_part_of_another_file_does_not_survive(site, fetcher):
    fetcher.folder.mkdir(parents=True)
    (fetcher.folder / "a.bin.part").write_bytes(b"something else")
    site.files["/a.bin"] = BODY
    assert fetcher.file(site.url + "a.bin", "a.bin", MD5).read_bytes() == BODY


def test_a_part_that_is_already_complete_is_recovered(site, fetcher):
    """A process killed between the last byte and the rename leaves one; the server answers 416 to its range."""
    fetcher.folder.mkdir(parents=True)
    (fetcher.folder / "a.bin.part").write_bytes(BODY)
    site.files["/a.bin"], site.statuses = BODY, [416]
    assert fetcher.file(site.url + "a.bin", "a.bin", MD5).read_bytes() == BODY


def test_not_found_is_final(site, fetcher):
    with pytest.raises(DataUnavailable, match="404"):
        fetcher.file(site.url + "nowhere", "a.bin", MD5)
    assert len(site.ranges) == 1


def test_without_a_network_the_error_says_so(fetcher):
    with pytest.raises(DataUnavailable, match="no connection"):
        fetcher.file("http://127.0.0.1:1/a.bin", "a.bin", MD5)


def test_only_web_addresses_are_opened(fetcher):
    with pytest.raises(BadInput, match="not an http"):
        fetcher.file("file:///etc/passwd", "a.bin", MD5)


def test_without_a_published_checksum_the_first_download_is_the_measure(site, fetcher):
    site.files["/a.bin"] = BODY
    path = fetcher.file(site.url + "a.bin", "a.bin", None)
    path.unlink()
    site.files["/a.bin"] = b"other bytes"
    with pytest.raises(DataUnavailable, match="differs from the first download"):
        fetcher.file(site.url + "a.bin", "a.bin", None)
