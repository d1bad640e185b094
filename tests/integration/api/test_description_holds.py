"""Schemathesis checks that the API matches its description: statuses, headers and bodies.

``make schemathesis`` makes ``PLATESTREAM_TEST_EXAMPLES`` calls of each operation instead of a few,
and also runs the phases and checks of the schemathesis command.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
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

from common.settings import S3Settings
from tests.described import api_description
from tests.integration.api.conftest import copied_database
from tests.integration.api.threaded import ThreadedApi, serving_in_thread
from tests.services.s3 import fresh_bucket

pytestmark = pytest.mark.integration

EXAMPLES = int(os.environ.get("PLATESTREAM_TEST_EXAMPLES", "2"))
CHECKS = (
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    ignored_auth,
)
# A few stateful calls are enough for each change of the code; the other phases take minutes.
PHASES = "stateful" if EXAMPLES < 50 else "examples,coverage,fuzzing,stateful"
Operation: TypeAlias = APIOperation[Any, Any, Any, Any]


def _operations() -> Iterator[Operation]:
    description = schemathesis.openapi.from_dict(api_description())
    # Logout is excluded, because an API key has no session.
    wanted = description.exclude(path="/api/session", method="DELETE")
    for found in wanted.get_all_operations():
        assert isinstance(found, Ok), found
        yield found.ok()


@pytest.fixture(scope="module")
def api(postgres_url: str, migrated_template: str, s3_server: S3Settings) -> Iterator[ThreadedApi]:
    with (
        copied_database(postgres_url, migrated_template) as database,
        serving_in_thread(database, credits=1_000_000, s3=fresh_bucket(s3_server)) as running,
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


@pytest.mark.long
def test_every_phase_and_check_of_the_command(api: ThreadedApi, tmp_path: Path) -> None:
    command = (
        *(str(Path(sys.executable).with_name("st")), "run", f"{api.address}/api/openapi.json"),
        *("--header", f"Authorization: {api.headers['Authorization']}"),
        *("--checks", "all", "--phases", PHASES, "--max-examples", str(EXAMPLES)),
        # A schema cannot express which addresses are public, or which bytes are an image.
        *("--exclude-checks", "positive_data_acceptance"),
        # The event stream does not end; the test above calls it.
        *("--exclude-path", "/api/recognitions/stream"),
        # This call would revoke the caller's key; the test above uses other IDs.
        *("--exclude-path", "/api/api-keys/{id}"),
        *("--continue-on-failure", "--no-shrink", "--no-color", "--generation-deterministic"),
        *("--request-timeout", "20"),
    )
    # Schemathesis stores its findings in the working directory.
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert ran.returncode == 0, ran.stdout[-20_000:] + ran.stderr[-2000:]
