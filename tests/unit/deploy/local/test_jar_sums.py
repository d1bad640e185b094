import hashlib
import shutil
from pathlib import Path

import pytest

from deploy.local import bootstrap, jar_sums


@pytest.fixture
def jars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the two jars of a list, and a file that Java does not take."""
    monkeypatch.setattr(jar_sums, "_HERE", tmp_path)
    for server in jar_sums.SERVERS:
        (tmp_path / server).mkdir()
        (tmp_path / server / "pom.xml").write_text("<project/>")
    folder = tmp_path / "jars"
    folder.mkdir()
    lines = [jar_sums.head_of("kafka").strip()]
    for name in ("broker-1.jar", "codec-2.jar"):
        (folder / name).write_text(name)
        lines.append(f"{hashlib.sha256(name.encode()).hexdigest()}  {name}")
    (folder / "read.me").touch()
    jar_sums.list_of("kafka").write_text("\n".join(lines) + "\n")
    return folder


def test_the_listed_jars_are_right(jars: Path) -> None:
    assert jar_sums.faults("kafka", jars) == []

    jar_sums.main(["check", "kafka", str(jars)])


def test_other_added_and_missing_jars_are_named(jars: Path) -> None:
    (jars / "broker-1.jar").write_text("something else")
    (jars / "codec-2.jar").unlink()
    (jars / "added.JAR").touch()

    assert jar_sums.faults("kafka", jars) == [
        "broker-1.jar: not the listed file",
        "added.JAR: not in the list",
        "codec-2.jar: missing",
    ]
    with pytest.raises(SystemExit, match="broker-1.jar: not the listed file"):
        jar_sums.main(["check", "kafka", str(jars)])


def test_a_list_of_another_pom_is_reported_as_such(jars: Path, tmp_path: Path) -> None:
    (tmp_path / "kafka" / "pom.xml").write_text("<project>newer</project>")

    (fault,) = jar_sums.faults("kafka", jars)

    assert "make jar-sums" in fault


def test_a_list_that_is_made_again_says_what_was_fetched(
    jars: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stores: set[str] = set()

    def copy_jars(_: str, folder: Path, store: str) -> None:
        shutil.copytree(jars, folder)
        (folder / "newer-3.jar").touch()
        stores.add(store)

    monkeypatch.setattr(bootstrap, "install_java", lambda: None)
    monkeypatch.setattr(bootstrap, "copy_jars", copy_jars)
    jar_sums.main(["write"])

    assert jar_sums.faults("s3", jars) == ["newer-3.jar: missing"]
    assert jar_sums.list_of("s3").read_text().startswith(jar_sums.head_of("s3"))
    (store,) = stores
    assert not Path(store.partition("=")[2]).parent.exists()


@pytest.mark.parametrize("server", jar_sums.SERVERS)
def test_the_lists_are_of_the_present_poms(server: str) -> None:
    text = jar_sums.list_of(server).read_text()

    assert text.startswith(jar_sums.head_of(server)), "run: make jar-sums"
    assert all(len(total) == 64 for total in jar_sums.listed(text).values())
