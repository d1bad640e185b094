"""Every query file says what it is for, and has nothing formatted in."""

import re
from pathlib import Path

import pytest

import analytics_sql

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

    if "as recognitions_page.sql" not in head:
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


def test_list_queries_differ_in_the_plate_alone() -> None:
    page = _parts(FOLDER / "recognitions_page.sql")[1]
    resembling = _parts(FOLDER / "recognitions_resembling.sql")[1]

    before, _, after = page.partition("  AND ({plate_pattern:String} = ''")
    rest = after[after.index("  AND confidence") :].partition("SETTINGS")[0]
    assert resembling.startswith(before)
    assert resembling.endswith(rest.rstrip())
