"""The query files, the errors and the connection, without a server."""

import asyncio
import re
from pathlib import Path

import pytest
from clickhouse_connect.driver.exceptions import DatabaseError, OperationalError, ProgrammingError

import analytics_sql
from analytics_sql.client import (
    ClickHouseClient,
    QueryFailedError,
    clickhouse_errors,
    query_text,
    query_with,
)
from common.errors import MisconfiguredError, TransientError
from common.settings import ClickHouseSettings

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


def test_the_query_has_only_the_given_filters() -> None:
    bare = query_with("recognitions_page", frozenset())
    by_plate = query_with("recognitions_page", frozenset({"plate_pattern"}))

    assert set(re.findall(r"\{(\w+):", bare)) == {"user_id", "limit"}
    assert set(re.findall(r"\{(\w+):", by_plate)) == {"user_id", "limit", "plate_pattern"}


def test_every_condition_can_be_asked_for() -> None:
    text = query_text("recognitions_page")
    names = frozenset(re.findall(r"-- if (\w+)$", text, re.MULTILINE))

    everything = query_with("recognitions_page", names)

    assert set(re.findall(r"\{(\w+):", everything)) == set(re.findall(r"\{(\w+):", text))
    assert everything.count("(") == everything.count(")")


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (OperationalError("connection refused"), TransientError),
        (DatabaseError("memory", code=241), TransientError),
        (DatabaseError("busy", code=202), TransientError),
        (DatabaseError("killed mutation", code=341), TransientError),
        (DatabaseError("too many mutations", code=692), TransientError),
        (DatabaseError("no table", code=60), MisconfiguredError),
        (DatabaseError("no column to insert", code=16), MisconfiguredError),
        (DatabaseError("no column to read", code=47), MisconfiguredError),
        (DatabaseError("no access", code=516), MisconfiguredError),
        (DatabaseError("syntax", code=62), QueryFailedError),
        (ProgrammingError("no session"), QueryFailedError),
    ],
)
def test_errors_come_in_our_family(error: Exception, expected: type[Exception]) -> None:
    with pytest.raises(expected) as caught, clickhouse_errors():
        raise error

    assert caught.value.__cause__ is error


class _Driver:
    """A driver that returns one row for every query, and counts how often it was opened."""

    column_names = ("n",)
    result_rows = ((1,),)

    def __init__(self, refusals: int = 0) -> None:
        self.opened = 0
        self.closed = 0
        self._refusals = refusals

    async def open(self, **_: object) -> "_Driver":
        self.opened += 1
        await asyncio.sleep(0)
        if self.opened <= self._refusals:
            raise OperationalError("connection refused")
        return self

    async def query(self, *_: object, **__: object) -> "_Driver":
        return self

    async def close(self) -> None:
        self.closed += 1


def _client(monkeypatch: pytest.MonkeyPatch, driver: _Driver) -> ClickHouseClient:
    monkeypatch.setattr("clickhouse_connect.get_async_client", driver.open)
    return ClickHouseClient(ClickHouseSettings.model_validate({"clickhouse_password": "none"}))


async def test_calls_at_the_same_time_share_one_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    driver = _Driver()
    client = _client(monkeypatch, driver)
    found = await asyncio.gather(*(client.count("erasures", {}) for _ in range(2)))

    assert found == [1, 1]
    assert driver.opened == 1


async def test_what_could_not_connect_tries_again(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = _Driver(refusals=1)
    client = _client(monkeypatch, driver)

    with pytest.raises(TransientError):
        await client.connect()
    assert [*(await client.run("SELECT 1")).named()] == [{"n": 1}]
    await client.close()
    await client.close()
    assert (driver.opened, driver.closed) == (2, 1)


def test_a_query_without_optional_lines_stays_as_it_is() -> None:
    assert query_with("erasures", frozenset({"limit"})) == query_text("erasures")
