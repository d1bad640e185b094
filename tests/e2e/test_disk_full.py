"""The whole stack on a disk without room for pictures: everything else goes on.

Its stack ends before that of the other modules begins, which come after it by name.
"""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import pytest

from tests.e2e.api_client import ApiClient
from tests.e2e.conftest import RoadClip
from tests.services.receiver import Receiver
from tests.services.stack import RunningStack

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(400)]

_NEVER_ROOM = {"S3_KEEP_FREE_BYTES": str(1 << 60), "WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8"}


@pytest.fixture
def full_stack() -> Iterator[RunningStack]:
    with (
        TemporaryDirectory(prefix="platestream-full-", ignore_cleanup_errors=True) as folder,
        RunningStack(Path(folder), _NEVER_ROOM) as stack,
    ):
        yield stack


def test_nothing_is_lost_but_pictures(full_stack: RunningStack, road_clip: RoadClip) -> None:
    client = ApiClient(full_stack.access.base_url, full_stack.access.api_key)
    with Receiver() as receiver:
        hook = {"name": "Gate", "url": receiver.url(), "events": ["alert.triggered"]}
        client.call("POST", "/api/webhooks", expect=201, json=hook)
        alert = {"name": "All", "plateMatchMode": "any", "cooldownMinutes": 0}
        client.call("POST", "/api/alertas", expect=201, json=alert)
        camera = client.create_camera(road_clip.path.as_uri())
        client.wait_until(
            "an alert at its receiver for each plate",
            lambda: (
                {one["data"]["recognition"]["plate"] for one in receiver.bodies()}
                >= set(road_clip.plates)
            ),
            seconds=240,
        )
        client.wait_until(
            "each in the list",
            lambda: {one["plate"] for one in client.recognitions(camera)} >= set(road_clip.plates),
            seconds=60,
        )
    listed = client.recognitions(camera)[0]
    shown = client.call("GET", f"/api/recognitions/{listed['id']}").json()["recognition"]
    assert "photoUrl" not in shown
    ready = httpx.get(full_stack.ready_url).json()
    assert ready["status"] == "ready"
    assert "the store of images is full and takes no more" in ready["warnings"]
    client.close()
