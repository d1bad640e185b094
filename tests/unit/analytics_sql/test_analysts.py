"""Analysts of one account: the state after a statement failed."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

import pytest
from clickhouse_connect.driver.exceptions import DatabaseError

from analytics_sql.analysts.accounts import (
    AnalystAccount,
    TargetDatabase,
    analyst_name,
    create_analyst,
    created_by,
    list_analysts,
    removed_by,
)
from analytics_sql.client import SchemaClient
from common.errors import InvalidInputError, TransientError

_OWNER, _OTHER = UUID(int=1), UUID(int=2)
_ANALYST = AnalystAccount(analyst_name(_OWNER, "grafana"), _OWNER)
_PLACE = TargetDatabase("platestream")


@dataclass
class _Server:
    """A server that accepts all statements except those that start with ``fails``."""

    names: Sequence[str] = ()
    fails: str = "nothing"
    commands: list[str] = field(default_factory=list)
    database: str | None = None

    def command(self, cmd: str, parameters: dict[str, Any] | None = None) -> Any:
        self.commands.append(cmd)
        if cmd.startswith(self.fails):
            raise DatabaseError("no connection")
        return 0 if cmd.startswith("SELECT count()") else "service"

    def query(self, query: str) -> Any:
        return SimpleNamespace(result_rows=[(name,) for name in self.names])

    def insert(
        self, table: str, data: Sequence[Sequence[Any]], column_names: Sequence[str]
    ) -> object:
        raise AssertionError("nothing is inserted")


def test_an_analyst_is_created_by_its_statements() -> None:
    server = _Server()

    password = create_analyst(cast("SchemaClient", server), _PLACE, _ANALYST)

    created = server.commands[2:]
    assert created[-1].startswith("GRANT SELECT ON")
    assert len(created) == len(created_by(_PLACE, _ANALYST, "", ""))
    assert not any(password in each for each in created)


@pytest.mark.parametrize(
    "fails",
    ["CREATE DATABASE", "CREATE OR", "CREATE SETTINGS", "CREATE USER", "CREATE QUOTA", "GRANT"],
)
def test_a_creation_that_fails_leaves_nothing(fails: str) -> None:
    server = _Server(fails=fails)

    with pytest.raises(TransientError):
        create_analyst(cast("SchemaClient", server), _PLACE, _ANALYST)

    assert tuple(server.commands[-4:]) == removed_by(_PLACE, _ANALYST)


def test_an_analyst_that_exists_is_left_alone() -> None:
    server = _Server(names=[_ANALYST.name])

    with pytest.raises(InvalidInputError, match="remove it first"):
        create_analyst(cast("SchemaClient", server), _PLACE, _ANALYST)

    assert not [each for each in server.commands if not each.startswith("SELECT")]


def test_what_was_created_in_part_is_listed() -> None:
    names = [_ANALYST.name, analyst_name(_OTHER), "analyst_of_all", "analyst_" + "z" * 32]
    server = _Server(names=names)

    assert list_analysts(cast("SchemaClient", server), [_OWNER]) == (_ANALYST,)
    assert len(list_analysts(cast("SchemaClient", server), [_OWNER, _OTHER])) == 2
