"""Who may make a key stronger, and by what."""

from datetime import UTC, datetime

import pytest

from api.api_keys.models import KeyValues, scopes_beyond
from api.scopes import ALL_SCOPES, Scope

A, B, C = Scope.ALERTS_READ, Scope.ALERTS_WRITE, Scope.CAMERAS_READ
EARLY, LATE = (datetime(year, 1, 1, tzinfo=UTC) for year in (2027, 2028))


def _key(*scopes: Scope, enabled: bool = True, expires_at: datetime | None = EARLY) -> KeyValues:
    return KeyValues("key", frozenset(scopes), enabled, expires_at)


@pytest.mark.parametrize(
    ("granter", "current", "wanted", "beyond"),
    [
        ({A, B}, None, _key(A), set()),
        ({A, B}, None, _key(A, B), set()),
        ({A, B}, None, _key(A, C), {C}),
        (set(), None, _key(A), {A}),
        (ALL_SCOPES, None, _key(*ALL_SCOPES), set()),
        # Adding.
        ({A}, _key(B), _key(A, B), set()),
        ({A}, _key(B), _key(B, C), {C}),
        # Taking away.
        ({A}, _key(B, C), _key(B), set()),
        ({A}, _key(C), _key(C, enabled=False), set()),
        ({A}, _key(C, expires_at=LATE), _key(C), set()),
        ({A}, _key(C, expires_at=None), _key(C), set()),
        ({A}, _key(C), _key(C), set()),
        # Making it work again or longer.
        ({A}, _key(C, enabled=False), _key(C), {C}),
        ({C}, _key(C, enabled=False), _key(C), set()),
        ({A}, _key(C), _key(C, expires_at=LATE), {C}),
        ({A}, _key(C), _key(C, expires_at=None), {C}),
        ({C}, _key(C), _key(C, expires_at=None), set()),
        ({A}, _key(A, C, enabled=False), _key(A), set()),
    ],
)
def test_what_a_caller_would_give_without_having_it(
    granter: set[Scope], current: KeyValues | None, wanted: KeyValues, beyond: set[Scope]
) -> None:
    assert scopes_beyond(frozenset(granter), wanted, current) == beyond
