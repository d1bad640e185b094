"""Results of the requests of an Apprise plugin."""

import pytest

from streams.webhooks.apprise import sender
from streams.webhooks.delivery.schedule import SendKind, SendResult, kind_of_status


def _answers(*statuses: int) -> list[SendResult]:
    return [SendResult(kind=kind_of_status(status), status=status) for status in statuses]


@pytest.mark.parametrize(
    ("statuses", "kind"),
    [
        ((404,), SendKind.FAILED),
        ((410,), SendKind.REFUSED),
        ((200, 503), SendKind.FAILED),
        ((200, 429), SendKind.FAILED),
        # The text was accepted, so each retry would send the text again.
        ((200, 413), SendKind.REFUSED),
        ((413, 200), SendKind.REFUSED),
    ],
    ids=str,
)
def test_a_message_of_which_a_part_is_taken_is_not_sent_again_for_a_refused_one(
    statuses: tuple[int, ...], kind: SendKind
) -> None:
    result = sender._result(_answers(*statuses), is_sent=False)

    assert result.kind is kind
    assert result.status in statuses
