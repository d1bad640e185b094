"""The client that is generated from the description, against the application it describes."""

import asyncio
import importlib
import sys
from collections.abc import AsyncIterator, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from api.db.database import Database
from tests.integration.api import images
from tests.integration.api.application import Application, running_application
from tests.integration.api.serving import served
from tools.scripts.python_client import PACKAGE, generate

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module", autouse=True)
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The package as the generator makes it of this tree; it warns of nothing."""
    folder = tmp_path_factory.mktemp("client")
    made = generate(folder)
    sys.path.insert(0, str(folder))
    yield made
    sys.path.remove(str(folder))
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        del sys.modules[name]


def _call(path: str) -> Any:
    return importlib.import_module(f"{PACKAGE}.api.{path}")


def _client_module(name: str) -> Any:
    return importlib.import_module(f"{PACKAGE}.{name}")


@pytest.fixture
async def application(database: Database) -> AsyncIterator[Application]:
    async with running_application(database) as application:
        yield application


@pytest.fixture
async def client(application: Application) -> AsyncIterator[Any]:
    caller = await application.new_owner(credits=3)
    async with served(application) as address:
        made = _client_module("client").AuthenticatedClient(base_url=address, token=caller.key)
        async with made as opened:
            yield opened


async def test_webhooks_and_alerts_go_round(client: Any) -> None:
    models, unset = _client_module("models"), _client_module("types").UNSET
    body = models.WebhookCreate(
        name="Gate",
        url="https://a.example.com/x",
        events=[models.EventName.RECOGNITION_CREATED],
    )
    made = await _call("webhooks.create_webhook").asyncio(client=client, body=body)
    listed = await _call("webhooks.list_webhooks").asyncio(client=client)
    assert [hook.id for hook in listed.webhooks] == [made.webhook.id]
    assert made.webhook.secret
    assert made.webhook.failure_count == 0

    change = models.AlertUpdate(enabled=False)
    alerts = _call("alerts.create_alert")
    alert = (await alerts.asyncio(client=client, body=models.AlertCreate(name="Any"))).alert
    changed = await _call("alerts.update_alert").asyncio(alert.id, client=client, body=change)
    assert (changed.alert.enabled, changed.alert.name) == (False, "Any")
    assert changed.alert.cooldown_minutes == 5
    assert changed.alert.timezone is not unset
    gone = await _call("alerts.delete_alert").asyncio_detailed(alert.id, client=client)
    assert gone.status_code == 204


async def test_an_image_is_read_and_paid(client: Any) -> None:
    body = _client_module("types").File(payload=BytesIO(images.jpeg()))
    recognize = _call("recognitions.recognize").sync
    # The generator's files can be sent by its synchronous calls only.
    with client.get_httpx_client():
        answer = await asyncio.to_thread(recognize, client=client, body=body)

    assert (answer.plates, answer.credits_remaining) == ([], 2)
    assert (await _call("credits_.get_credits").asyncio(client=client)).credits_ == 2


async def test_lists_analytics_and_keys_are_typed(client: Any) -> None:
    page = await _call("recognitions.list_recognitions").asyncio(client=client, limit=5)
    overview = await _call("analytics.get_analytics").asyncio(client=client)
    keys = await _call("api_keys.list_api_keys").asyncio(client=client)

    assert (page.recognitions, page.next_key) == ([], None)
    assert overview.stats.total30d == 0
    assert len(overview.hourly_chart) == 24
    assert len(keys.api_keys) == 1


async def test_errors_are_typed_too(client: Any) -> None:
    unknown = "00000000-0000-4000-8000-000000000000"
    missing = await _call("alerts.delete_alert").asyncio(unknown, client=client)
    assert missing.code == "not_found"
    body = _client_module("models").WebhookCreate(name="x", url="ftp://a", events=[])
    refused = await _call("webhooks.create_webhook").asyncio(client=client, body=body)
    assert refused.code == "invalid_request"
    assert {fault.path for fault in refused.fields} == {"url", "events"}
