"""The API keeps what its description says, asked by schemathesis: statuses, headers, bodies.

``PLATESTREAM_TEST_EXAMPLES`` calls of each operation instead of a handful: ``make schemathesis``.
"""

import os
from collections.abc import Iterator
from typing import Any, TypeAlias

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import APIOperation
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    ignored_auth,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from api.app import create_app
from api.openapi import describe
from tests.integration.api.conftest import copied_database
from tests.integration.api.threaded import ThreadedApi, serving_in_thread
from tests.unit.api.nothing import no_services

pytestmark = pytest.mark.integration

EXAMPLES = int(os.environ.get("PLATESTREAM_TEST_EXAMPLES", "4"))
CHECKS = (
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    ignored_auth,
)
Operation: TypeAlias = APIOperation[Any, Any, Any, Any]


def _operations() -> Iterator[Operation]:
    description = schemathesis.openapi.from_dict(describe(create_app(no_services)))
    # Not the end of the caller's own session: it has none.
    wanted = description.exclude(path="/api/session", method="DELETE")
    for found in wanted.get_all_operations():
        assert isinstance(found, Ok), found
        yield found.ok()


@pytest.fixture(scope="module")
def api(postgres_url: str, migrated_template: str) -> Iterator[ThreadedApi]:
    with (
        copied_database(postgres_url, migrated_template) as database,
        serving_in_thread(database, credits=1_000_000) as running,
    ):
        yield running


@pytest.mark.parametrize(
    "operation", list(_operations()), ids=lambda operation: str(operation.label)
)
def test_an_operation_answers_as_described(operation: Operation, api: ThreadedApi) -> None:
    @given(case=operation.as_strategy())
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        phases=(Phase.explicit, Phase.generate),
        suppress_health_check=list(HealthCheck),
    )
    def answers(case: schemathesis.Case[Any]) -> None:
        case.call_and_validate(
            base_url=api.address, headers=api.headers, checks=list(CHECKS), timeout=20
        )

    answers()
