"""Devices on which an account has logged in before."""

from uuid import UUID

import pytest
from cryptography.fernet import Fernet

from api.security.devices import DEVICE_SECONDS, Devices
from common.secrets import SecretBox

EMAIL = "owner@example.com"
PERSON, OTHER = UUID(int=1), UUID(int=2)


@pytest.fixture
def box() -> SecretBox:
    return SecretBox(Fernet.generate_key().decode())


@pytest.fixture
def devices(box: SecretBox) -> Devices:
    return Devices(box)


def test_a_device_is_known_and_keeps_its_id(devices: Devices) -> None:
    cookie = devices.cookie(None, EMAIL, PERSON)
    device = devices.known(cookie, EMAIL)

    assert device is not None
    assert device.person_id == PERSON
    assert devices.known(devices.cookie(device, EMAIL, PERSON), EMAIL) == device
    assert devices.known(devices.cookie(None, EMAIL, PERSON), EMAIL) != device


def test_a_device_is_known_for_its_account_only(devices: Devices) -> None:
    assert devices.known(devices.cookie(None, "another@example.com", PERSON), EMAIL) is None


def test_only_a_device_cookie_identifies_who_logged_in(devices: Devices, box: SecretBox) -> None:
    cookie = devices.cookie(None, EMAIL, PERSON)

    assert devices.person(cookie) == PERSON
    for made_up in (None, "", "x", box.encrypt("x"), box.encrypt(f"a {PERSON} b")):
        assert devices.person(made_up) is None


def test_another_person_of_the_address_gets_another_id(devices: Devices) -> None:
    device = devices.known(devices.cookie(None, EMAIL, PERSON), EMAIL)
    other = devices.known(devices.cookie(device, EMAIL, OTHER), EMAIL)

    assert device is not None
    assert other is not None
    assert (other.person_id, other.id == device.id) == (OTHER, False)


def test_a_device_cookie_cannot_be_forged(devices: Devices, box: SecretBox) -> None:
    other = Devices(SecretBox(Fernet.generate_key().decode()))
    made_up = (
        None,
        "",
        "x",
        "ü" * 40,
        "\x00",
        other.cookie(None, EMAIL, PERSON),
        box.encrypt("a b"),
    )

    assert [devices.known(cookie, EMAIL) for cookie in made_up] == [None] * len(made_up)
    # Other values encrypted with the same key are not devices, even if a client chose their text.
    assert devices.known(box.encrypt(f"id {EMAIL}"), EMAIL) is None


def test_a_device_is_forgotten(devices: Devices, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1_790_000_000
    monkeypatch.setattr("time.time", lambda: now)
    cookie = devices.cookie(None, EMAIL, PERSON)

    now += DEVICE_SECONDS
    assert devices.known(cookie, EMAIL)
    now += 1
    assert devices.known(cookie, EMAIL) is None
