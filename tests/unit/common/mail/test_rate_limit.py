"""Limit of emails per hour, and the notice about suppressed emails."""

from common.mail.rate_limit import HourlyLimits
from tests.clock import Clock


def _limits(clock: Clock, *, per_address: int = 2, per_owner: int = 0) -> HourlyLimits:
    return HourlyLimits(
        per_address=per_address, per_owner=per_owner, messages="messages", clock=clock
    )


def _send(limits: HourlyLimits, address: str = "phone", *, taken: bool = True) -> str | None:
    """Send once, and return the notice or the reason for the denial."""
    if (denial := limits.denial("owner", address)) is not None:
        return f"denied: {denial.sentence}"
    with limits.sending("owner", address) as allowed:
        notice = allowed.warning
    if taken:
        allowed.accepted()
    return notice


def test_the_last_one_says_so_and_the_next_one_what_was_held_back() -> None:
    clock = Clock()
    limits = _limits(clock)
    assert _send(limits) is None
    assert _send(limits) == "The hourly limit is reached. Further messages will not be sent."
    for _ in range(3):
        assert _send(limits) == "denied: The address has reached its limit of 2 messages per hour."
    clock.seconds += 3600
    told = "3 messages were not sent because of the hourly limit."
    # A message that no server accepted reported nothing.
    assert _send(limits, taken=False) == told
    assert _send(limits) == told
    assert "were not sent" not in (_send(limits) or "")


def test_emails_over_the_accounts_limit_are_reported_to_each_address() -> None:
    clock = Clock()
    limits = _limits(clock, per_address=0, per_owner=1)
    assert (_send(limits, "one") or "").startswith("The hourly limit is reached")
    sentence = "denied: The account has reached its limit of 1 messages per hour."
    assert [_send(limits, "one"), _send(limits, "two")] == [sentence] * 2
    clock.seconds += 3600
    assert (_send(limits, "two") or "").startswith("1 message was not sent because of")


def test_what_is_under_way_may_use_up_the_hour() -> None:
    limits = _limits(Clock(), per_address=1)
    with limits.sending("owner", "phone"):
        denial = limits.denial("owner", "phone")
    assert denial is not None
    assert not denial.is_final
    assert _send(limits, taken=False) is not None
    assert limits.denial("owner", "phone") is None


def test_without_limits_nothing_is_reported() -> None:
    limits = _limits(Clock(), per_address=0)
    assert {_send(limits) for _ in range(100)} == {None}
