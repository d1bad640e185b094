from pathlib import Path

import pytest

from deploy.local.files import Layout, java_property, write_whole


def test_a_file_has_its_mode_from_the_first_moment(tmp_path: Path) -> None:
    write_whole(tmp_path / "sub" / "secret", "text", mode=0o600)

    assert (tmp_path / "sub" / "secret").read_text() == "text"
    assert (tmp_path / "sub" / "secret").stat().st_mode & 0o777 == 0o600


def test_a_failed_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "secret"
    write_whole(file, "old")

    def full_disk(_: int) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr("os.fsync", full_disk)
    with pytest.raises(OSError, match="no space"):
        write_whole(file, "new")

    assert file.read_text() == "old"


def test_the_rest_of_a_crash_is_no_hindrance(tmp_path: Path) -> None:
    (tmp_path / ".secret.new").write_text("half of it")

    write_whole(tmp_path / "secret", "new")

    assert (tmp_path / "secret").read_text() == "new"
    assert [file.name for file in tmp_path.iterdir()] == ["secret"]


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("/srv/a b=c:d", "/srv/a b=c:d"),
        ("/home/jürgen", "/home/j\\u00fcrgen"),
        ("C:\\x", "C:\\\\x"),
        ("/🚗", "/\\ud83d\\ude97"),
    ],
    ids=["plain", "umlaut", "backslash", "beyond-16-bit"],
)
def test_java_reads_a_property_as_it_was_meant(value: str, written: str) -> None:
    assert java_property(value) == written


def test_folders_that_others_can_read_are_closed(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    for folder in (tmp_path, layout.logs, layout.data("s3"), tmp_path / "somebody's"):
        folder.mkdir(exist_ok=True)
        folder.chmod(0o755)
    layout.close_to_others()

    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    assert modes == {"logs": 0o700, "s3": 0o700, "somebody's": 0o755}
    assert tmp_path.stat().st_mode & 0o777 == 0o755
