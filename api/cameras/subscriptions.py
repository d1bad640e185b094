"""What a camera costs: credits for each 30 days, the unused share given back."""

from dataclasses import dataclass
from datetime import datetime, timedelta

PERIOD = timedelta(days=30)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True)
class Subscription:
    """What was paid last for a camera, and until when; nothing where nothing was ever due."""

    credits: int = 0
    paid_until: datetime | None = None

    def is_paid(self, now: datetime) -> bool:
        """Tell whether the camera is paid for at the moment ``now``."""
        return self.paid_until is not None and self.paid_until > now

    def unused_credits(self, now: datetime) -> int:
        """Return the share of the credits that stands for the time left, rounded down."""
        if self.paid_until is None or self.paid_until <= now:
            return 0
        left = min(self.paid_until - now, PERIOD)
        return self.credits * (left // _MICROSECOND) // (PERIOD // _MICROSECOND)


def renewed(subscription: Subscription, price: int, now: datetime) -> Subscription:
    """Return the subscription after ``price`` credits were paid for another period.

    It goes on where the last one ended, unless that is so long ago that it would end in the past.
    """
    since = subscription.paid_until
    start = since if since is not None and since + PERIOD > now else now
    return Subscription(price, start + PERIOD)
