"""Each topic has one producer, and each table of PostgreSQL and ClickHouse has one writer."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from common.records import topics
from common.records.topics import TOPICS, Topic

ROOT = Path(__file__).resolve().parents[2]


def _sources(folder: str) -> Iterator[Path]:
    yield from (ROOT / folder).rglob("*.py")


def _files_with(pattern: str) -> set[str]:
    return {
        path.relative_to(ROOT).as_posix()
        for folder in ("api", "ingest", "streams", "common")
        for path in _sources(folder)
        if re.search(pattern, path.read_text(encoding="utf-8"))
    }


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: str(topic.name))
def test_a_topic_names_a_folder_that_exists(topic: Topic) -> None:
    assert (ROOT / topic.producer).is_dir()


def test_topic_names_are_unique() -> None:
    assert len({topic.name for topic in TOPICS}) == len(TOPICS)


def test_every_topic_constant_is_listed() -> None:
    constants = {value for value in vars(topics).values() if isinstance(value, Topic)}

    assert constants == set(TOPICS)


def test_only_the_api_opens_postgres() -> None:
    for folder in ("ingest", "streams", "analytics_sql", "recognition", "common"):
        for path in _sources(folder):
            text = path.read_text(encoding="utf-8")
            assert not re.search(r"^\s*(import|from) (psycopg|sqlalchemy)", text, re.M), path


def test_only_the_sink_writes_to_clickhouse() -> None:
    writers = _files_with(
        r"from analytics_sql\.[^(\n]*import[^)\n]*(\([^)]*)?\binsert_(?!erasure)\w+"
    )

    assert writers == {"streams/sink/tables.py"}


def test_only_the_sink_and_an_erasure_take_rows_out_of_clickhouse() -> None:
    erasers = _files_with(r"from analytics_sql\.[^(\n]*import[^)\n]*(\([^)]*)?\berase_\w+")

    sink = {"streams/sink/tables.py", "streams/sink/rollups.py"}
    assert erasers == {*sink, "api/erasure/service.py"}


def test_only_the_sink_keeps_rollups() -> None:
    assert _files_with(r"analytics_sql\.traffic\.rollups") == {"streams/sink/rollups.py"}
