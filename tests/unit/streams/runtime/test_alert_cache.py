"""Alerts that records refer to, and their cached content."""

import asyncio
import time

import msgspec
import pytest

from common.records.alerts import AlertConfig, by_reference
from common.records.codec import decode, encode
from streams.runtime import alert_cache
from streams.runtime.alert_cache import AlertCache
from tests.records import alert


def rule(revision: int, *plates: str) -> AlertConfig:
    return alert(
        1,
        revision=revision,
        plates=plates,
        description="long",
        notifications_encrypted="n",
        notification_secret_encrypted="s",
    )


FIRST, SECOND = rule(1, "AB1"), rule(2, "AB2")


@pytest.fixture
def book() -> AlertCache:
    return AlertCache()


async def test_a_reference_is_resolved_to_the_alert_as_it_was(book: AlertCache) -> None:
    book.apply([(FIRST.alert_id, FIRST)])
    sent = decode(AlertConfig, encode(by_reference(FIRST)))
    assert (sent.plates, sent.description, sent.notifications_encrypted) == ((), "", "")
    assert await book.whole(sent) == FIRST
    assert await book.whole(msgspec.structs.replace(sent, name="")) == FIRST
    # The content stays available after the alert was changed or deleted.
    book.apply([(FIRST.alert_id, SECOND)])
    assert await book.whole(sent) == FIRST
    assert await book.whole(by_reference(SECOND)) == SECOND
    book.apply([(FIRST.alert_id, None)])
    assert await book.whole(sent) == FIRST


async def test_an_alert_that_is_no_reference_is_whole_already(book: AlertCache) -> None:
    assert await book.whole(FIRST) is FIRST


async def test_a_revision_that_is_not_known_yet_is_waited_for(book: AlertCache) -> None:
    book.apply([(FIRST.alert_id, FIRST)])
    asked = asyncio.create_task(book.whole(by_reference(SECOND)))
    await asyncio.sleep(0.01)
    book.apply([(FIRST.alert_id, SECOND)])
    assert await asked == SECOND


async def test_what_was_changed_long_ago_has_the_lists_of_now(book: AlertCache) -> None:
    book.apply([(FIRST.alert_id, SECOND)])
    began = time.monotonic()
    found = await book.whole(by_reference(FIRST))
    assert (found.revision, found.plates, found.is_reference) == (1, ("AB2",), False)
    assert time.monotonic() - began < 0.5


async def test_what_was_deleted_long_ago_has_no_lists_and_is_waited_for_once(
    book: AlertCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alert_cache, "_WAIT_SECONDS", 0.2)
    began = time.monotonic()
    for _ in range(20):
        found = await book.whole(by_reference(FIRST))
    assert (found.name, found.plates, found.is_reference) == (FIRST.name, (), False)
    assert time.monotonic() - began < 1
