"""Cursors of the recognitions list."""

import base64
import random
import struct
from dataclasses import replace
from uuid import UUID

from cryptography.fernet import Fernet
from hypothesis import given
from hypothesis import strategies as st

from analytics_sql.recognitions import RecognitionCursor, RecognitionFilter
from api.paging.cursor import CursorSealer
from common.plates.matching import MatchMode

OWNER = UUID(int=7)
WANTED = RecognitionFilter(user_id=OWNER, plate="AB12", from_ms=5)
POSITION = RecognitionCursor(1_790_000_000_123, UUID(int=99))
KEY = Fernet.generate_key().decode()
SEALER = CursorSealer(KEY)
SEALER_PLACE = struct.Struct(">Bq16s")


@given(st.integers(-(2**63), 2**63 - 1), st.uuids())
def test_what_was_sealed_opens(captured_ms: int, identifier: UUID) -> None:
    position = RecognitionCursor(captured_ms, identifier)

    assert SEALER.open(WANTED, SEALER.seal(WANTED, position)) == position


def test_a_cursor_is_safe_in_a_url() -> None:
    assert SEALER.seal(WANTED, POSITION).replace("-", "").replace("_", "").isalnum()


def test_each_filter_is_bound() -> None:
    sealed = SEALER.seal(WANTED, POSITION)
    others = [
        replace(WANTED, user_id=UUID(int=8)),
        replace(WANTED, plate="AB1"),
        replace(WANTED, plate=None),
        replace(WANTED, camera_id=UUID(int=1)),
        replace(WANTED, from_ms=6),
        replace(WANTED, to_ms=5),
        replace(WANTED, min_confidence=0.5),
        *(replace(WANTED, match=mode) for mode in MatchMode if mode is not WANTED.match),
    ]

    assert all(SEALER.open(other, sealed) is None for other in others)


@given(st.text(max_size=80))
def test_an_invalid_cursor_does_not_open(text: str) -> None:
    assert SEALER.open(WANTED, text) is None


@given(st.integers(0, 40), st.integers(1, 255))
def test_a_changed_byte_is_noticed(place: int, change: int) -> None:
    data = bytearray(base64.urlsafe_b64decode(SEALER.seal(WANTED, POSITION) + "=="))
    data[place] ^= change
    forged = base64.urlsafe_b64encode(bytes(data)).decode().rstrip("=")

    assert SEALER.open(WANTED, forged) is None


def test_padding_and_spare_bits_are_no_second_form() -> None:
    sealed = SEALER.seal(WANTED, POSITION)
    last = sealed[-1]
    forms = {sealed + "=", sealed + "==", sealed + "\n"}
    forms |= {sealed[:-1] + other for other in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" if other != last}

    assert all(SEALER.open(WANTED, form) is None for form in forms)


def test_after_a_key_rotation_old_cursors_open_and_other_keys_do_not() -> None:
    sealed = SEALER.seal(WANTED, POSITION)
    new = Fernet.generate_key().decode()

    assert CursorSealer(f"{new},{KEY}").open(WANTED, sealed) == POSITION
    assert CursorSealer(new).open(WANTED, sealed) is None


def test_none_of_a_thousand_forged_cursors_opens() -> None:
    chance = random.Random(1000)
    sealed = base64.urlsafe_b64decode(SEALER.seal(WANTED, POSITION) + "==")
    strangers = CursorSealer(Fernet.generate_key().decode())

    def forged(number: int) -> str:
        data = bytearray(sealed)
        if number % 4 == 0:
            data = bytearray(chance.randbytes(len(sealed)))
        elif number % 4 == 1:
            # The cursor has another position with the same seal.
            data[:25] = SEALER_PLACE.pack(1, chance.randrange(2**40), chance.randbytes(16))
        elif number % 4 == 2:
            for _ in range(chance.randrange(1, 4)):
                data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        else:
            return strangers.seal(WANTED, RecognitionCursor(number, UUID(int=number)))
        return base64.urlsafe_b64encode(bytes(data)).decode().rstrip("=")

    cursors = {forged(number) for number in range(1000)} - {SEALER.seal(WANTED, POSITION)}
    assert len(cursors) > 900
    assert all(SEALER.open(WANTED, cursor) is None for cursor in cursors)
