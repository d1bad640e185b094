"""Every query file says what it is for, and has nothing formatted in."""

import re
from pathlib import Path

import pytest

import analytics_sql
from analytics_sql.statements import query_asking_for, query_text

FOLDER = Path(analytics_sql.__file__).parent / "queries"
FILES = sorted(FOLDER.glob("*.sql"))


def _parts(path: Path) -> tuple[str, str]:
    lines = path.read_text(encoding="utf-8").splitlines()
    head = [line for line in lines if line.startswith("--")]
    return "\n".join(head), "\n".join(line for line in lines if not line.startswith("--"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.stem))
def test_head_names_each_parameter(path: Path) -> None:
    head, sql = _parts(path)
    names = set(re.findall(r"\{(\w+):", sql))

    assert all(re.search(rf"\b{name}\b", head) for name in names), names


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.stem))
def test_selects_say_question_result_and_sort_key(path: Path) -> None:
    head, sql = _parts(path)

    if sql.lstrip().startswith("SELECT"):
        assert re.search(r"-- Question: .*", head)
        assert "result:" in head.lower()
        assert "sort key:" in head.lower()


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.stem))
def test_values_are_server_side_parameters(path: Path) -> None:
    _, sql = _parts(path)

    assert "%(" not in sql
    assert not re.search(r"\{\w*\}", sql)


def test_only_what_is_asked_for_stands_in_the_query() -> None:
    bare = query_asking_for("recognitions_page", frozenset())
    by_plate = query_asking_for("recognitions_page", frozenset({"plate_pattern"}))

    assert set(re.findall(r"\{(\w+):", bare)) == {"user_id", "limit"}
    assert set(re.findall(r"\{(\w+):", by_plate)) == {"user_id", "limit", "plate_pattern"}


def test_every_condition_can_be_asked_for() -> None:
    text = query_text("recognitions_page")
    names = frozenset(re.findall(r"-- if (\w+)$", text, re.MULTILINE))

    everything = query_asking_for("recognitions_page", names)

    assert set(re.findall(r"\{(\w+):", everything)) == set(re.findall(r"\{(\w+):", text))
    assert everything.count("(") == everything.count(")")
