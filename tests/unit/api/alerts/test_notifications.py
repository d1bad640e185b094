"""The stored URL that a masked URL represents."""

import pytest

from api.alerts.notifications import reject_reduced_urls, with_stored_services, with_stored_urls
from api.errors import ApiError
from common.records.alerts import AppriseNotification, Notification, WebhookNotification

GATE = AppriseNotification(url="ntfys://push.example.com/gate", id="a")
YARD = AppriseNotification(url="ntfys://push.example.com/yard", id="b")
HOOK = WebhookNotification(url="https://receiver.example.com/")
MASKED = AppriseNotification(url="ntfys://***")
NEW = AppriseNotification(url="gotify://push.example.com/t0ken")


def _with_id(one: AppriseNotification, identifier: str) -> AppriseNotification:
    return AppriseNotification(url=one.url, id=identifier)


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ([GATE.masked(), YARD.masked()], [GATE, YARD]),
        ([YARD.masked()], [YARD]),
        ([YARD.masked(), HOOK, GATE.masked()], [YARD, HOOK, GATE]),
        ([MASKED, MASKED], [GATE, YARD]),
        ([_with_id(NEW, "a"), YARD.masked()], [_with_id(NEW, "a"), YARD]),
        ([HOOK], [HOOK]),
    ],
    ids=["both", "the first is gone", "moved", "without ids", "one is another", "none"],
)
def test_a_masked_address_is_the_stored_one(
    sent: list[Notification], kept: list[Notification]
) -> None:
    assert with_stored_services(sent, [GATE, YARD]) == tuple(kept)


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ([MASKED], []),
        ([MASKED], [HOOK]),
        ([_with_id(MASKED, "c")], [GATE]),
        ([AppriseNotification(url="gotify://***", id="a")], [GATE]),
        ([AppriseNotification(url="gotify://***")], [GATE]),
    ],
    ids=["new", "another kind", "unknown id", "another service", "in its place"],
)
def test_a_mask_without_a_stored_value_is_reported(
    sent: list[Notification], stored: list[Notification]
) -> None:
    with pytest.raises(ApiError) as caught:
        with_stored_services([HOOK, *sent], [HOOK, *stored])
    assert [fault.path for fault in caught.value.fields] == ["notifications.1.url"]


def test_of_a_shorter_list_places_say_nothing() -> None:
    with pytest.raises(ApiError):
        with_stored_services([MASKED], [GATE, YARD])


def test_each_gets_its_own_id() -> None:
    kept = with_stored_services(
        [NEW, GATE.masked(), GATE.masked(), _with_id(NEW, "x")], [HOOK, GATE]
    )
    ids = [one.id for one in kept if isinstance(one, AppriseNotification)]
    assert ids[1] == "a"
    assert len({*ids}) == 4
    assert all(ids)


A, B = (WebhookNotification(url=f"https://receiver.example.com/{token}") for token in "ab")
OTHER = WebhookNotification(url="https://other.example.com:8443/c?d=e")
REDUCED = WebhookNotification(url="https://receiver.example.com")
REDUCED_OTHER = WebhookNotification(url="https://other.example.com")
ROOT = WebhookNotification(url="https://receiver.example.com/")


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ([REDUCED, REDUCED_OTHER, REDUCED], [A, OTHER, B]),
        ([REDUCED_OTHER], [OTHER]),
        ([WebhookNotification(url="HTTPS://Other.example.com")], [OTHER]),
        ([ROOT, REDUCED_OTHER], [ROOT, OTHER]),
        ([], []),
    ],
    ids=["all", "one", "in capitals", "another path", "none"],
)
def test_a_reduced_url_is_the_stored_one(
    sent: list[Notification], kept: list[Notification]
) -> None:
    assert with_stored_urls([GATE, *sent], [A, OTHER, GATE, B]) == (GATE, *kept)


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ([REDUCED], []),
        ([REDUCED], [OTHER]),
        ([REDUCED], [A, B]),
        ([REDUCED, REDUCED], [A]),
        ([WebhookNotification(url="http://receiver.example.com")], [A]),
    ],
    ids=["new", "another host", "one of two", "more than there are", "another scheme"],
)
def test_an_ambiguous_reduced_url_is_reported(
    sent: list[Notification], stored: list[Notification]
) -> None:
    with pytest.raises(ApiError) as caught:
        with_stored_urls([GATE, *sent], stored)
    assert [fault.path for fault in caught.value.fields] == [
        f"notifications.{number}.url" for number in range(1, len(sent) + 1)
    ]


def test_a_new_alert_does_not_take_the_reduced_url_of_another() -> None:
    reject_reduced_urls([REDUCED, ROOT, GATE], [OTHER])
    with pytest.raises(ApiError) as caught:
        reject_reduced_urls([GATE, ROOT, REDUCED], [A, OTHER])
    assert [fault.path for fault in caught.value.fields] == ["notifications.2.url"]
