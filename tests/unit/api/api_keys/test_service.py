"""Who can extend a key, with which scopes and for how long, and a key's recorded ancestors."""

from datetime import UTC, datetime
from uuid import UUID

import pytest

from api.api_keys.service import MAX_REVOKED_ANCESTORS, Granter, KeyValues
from api.security.permissions import ALL_SCOPES, Scope

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
        # Changes that add scopes.
        ({A}, _key(B), _key(A, B), set()),
        ({A}, _key(B), _key(B, C), {C}),
        # Changes that only remove permissions.
        ({A}, _key(B, C), _key(B), set()),
        ({A}, _key(C), _key(C, enabled=False), set()),
        ({A}, _key(C, expires_at=LATE), _key(C), set()),
        ({A}, _key(C, expires_at=None), _key(C), set()),
        ({A}, _key(C), _key(C), set()),
        # Changes that enable a key or extend its lifetime.
        ({A}, _key(C, enabled=False), _key(C), {C}),
        ({C}, _key(C, enabled=False), _key(C), set()),
        ({A}, _key(C), _key(C, expires_at=LATE), {C}),
        ({A}, _key(C), _key(C, expires_at=None), {C}),
        ({C}, _key(C), _key(C, expires_at=None), set()),
        ({A}, _key(A, C, enabled=False), _key(A), set()),
    ],
)
def test_scopes_that_a_caller_grants_without_having_them_are_found(
    granter: set[Scope], current: KeyValues | None, wanted: KeyValues, beyond: set[Scope]
) -> None:
    assert Granter(frozenset(granter)).scopes_beyond(wanted, current) == beyond


@pytest.mark.parametrize(
    ("own_end", "current", "wanted", "is_outlived"),
    [
        (None, None, _key(A, expires_at=None), False),
        (EARLY, None, _key(A, expires_at=None), True),
        (EARLY, None, _key(A, expires_at=LATE), True),
        (EARLY, None, _key(A, expires_at=EARLY), False),
        (LATE, None, _key(A, expires_at=EARLY), False),
        # A key without an expiry could enable the disabled key later.
        (EARLY, None, _key(A, enabled=False, expires_at=LATE), True),
        # Changes that enable a key, or extend its lifetime or its scopes.
        (EARLY, _key(A), _key(A, expires_at=None), True),
        (EARLY, _key(A), _key(A, expires_at=LATE), True),
        (LATE, _key(A), _key(A, expires_at=LATE), False),
        (None, _key(A), _key(A, expires_at=None), False),
        (EARLY, _key(A, enabled=False, expires_at=LATE), _key(A, expires_at=LATE), True),
        (EARLY, _key(A, enabled=False, expires_at=LATE), _key(A), False),
        (EARLY, _key(A, expires_at=None), _key(A, B, expires_at=None), True),
        (EARLY, _key(A, expires_at=None), _key(A, B), False),
        # Changes that remove permissions or grant none.
        (EARLY, _key(A, B, expires_at=None), _key(A, expires_at=None), False),
        (EARLY, _key(A, expires_at=None), _key(A, expires_at=LATE), False),
        (EARLY, _key(A, expires_at=LATE), _key(A, enabled=False, expires_at=LATE), False),
        (EARLY, _key(A, expires_at=LATE), _key(A, expires_at=LATE), False),
    ],
)
def test_what_lasts_longer_than_the_granter_is_found(
    own_end: datetime | None, current: KeyValues | None, wanted: KeyValues, is_outlived: bool
) -> None:
    granter = Granter(ALL_SCOPES, own_end)

    assert granter.is_outlived(wanted, current) is is_outlived


def test_the_ancestors_of_a_new_key_are_its_maker_and_the_makers_own() -> None:
    line = (UUID(int=3), UUID(int=2), UUID(int=1))

    assert Granter(ALL_SCOPES, line=line).ancestors_of_new({UUID(int=3)}) == line
    assert Granter(ALL_SCOPES).ancestors_of_new({UUID(int=3)}) == ()


def test_only_distant_ancestors_that_are_revoked_are_forgotten() -> None:
    line = tuple(UUID(int=number) for number in range(MAX_REVOKED_ANCESTORS + 3))
    existing = {line[0], line[-2]}

    kept = Granter(ALL_SCOPES, line=line).ancestors_of_new(existing)
    assert kept == (*line[:MAX_REVOKED_ANCESTORS], line[-2])
