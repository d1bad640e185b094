"""Health of the whole stack, as shown to the server administrator."""

import httpx
import pytest
from platestream_client import ApiError, Client
from platestream_client.calls import Call, whole

from tests.services.stack import RunningStack
from tests.waiting import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.long]

_STAGES = {"ingest", "recognition", "sink", "alerts", "webhooks"}
_SECONDS = 120.0


def test_each_stage_has_a_worker_and_each_disk_its_room(
    client: Client, running_stack: RunningStack
) -> None:
    access = running_stack.access
    with pytest.raises(ApiError, match="^403"):
        client.perform(Call("GET", "/api/health", whole))
    with httpx.Client(base_url=access.base_url, headers={"Origin": access.base_url}) as browser:
        answer = browser.post(
            "/api/session", json={"email": access.email, "password": access.password}
        )
        assert answer.status_code == 200, answer.text

        def workers() -> dict[str, int]:
            found = browser.get("/api/health", timeout=30)
            assert found.status_code == 200, found.text
            assert found.json()["disks"]
            return {stage["name"]: stage["workers"] for stage in found.json()["stages"] or ()}

        wait_until(
            "a worker in each stage",
            lambda: all(workers().get(name) == 1 for name in _STAGES),
            _SECONDS,
            1.0,
        )
