"""Files are given up for good, all but those that are named."""

from pathlib import Path

from secure_sapefl.site.trainer import landlock
from tests.site.trainer.apart import told


def test_what_is_named_can_be_read_and_nothing_else(tmp_path: Path) -> None:
    for name in ("open", "closed"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("text")
    program = """
        from secure_sapefl.site.trainer import landlock, limits
        folder = Path(sys.argv[1])
        limits.no_new_privileges()
        before = tried((folder / "closed" / "file").read_text)
        landlock.leave_only([folder / "open", folder / "missing"])
        print(before, *[
            tried((folder / "open" / "file").read_text),
            tried((folder / "closed" / "file").read_text),
            tried(lambda: os.listdir(folder / "closed")),
            tried(lambda: (folder / "open" / "file").write_text("other")),
            tried(lambda: (folder / "open" / "new").mkdir()),
        ])
    """
    expected = "done done PermissionError PermissionError PermissionError PermissionError"
    assert told(program, str(tmp_path)) == expected
    assert landlock.version() > 0


def test_a_kernel_without_it_is_told_apart(tmp_path: Path) -> None:
    program = """
        from secure_sapefl.site.trainer import landlock
        landlock.version = lambda: 0
        print(tried(lambda: landlock.leave_only([])))
    """
    assert told(program) == "OSError"
