"""Devices on which an owner logged in before."""

import pytest
from cryptography.fernet import Fernet

from api.sessions.devices import DEVICE_SECONDS, Devices
from common.secrets import SecretBox

EMAIL = "owner@example.com"


@pytest.fixture
def box() -> SecretBox:
    return SecretBox(Fernet.generate_key().decode())


@pytest.fixture
def devices(box: SecretBox) -> Devices:
    return Devices(box)


def test_a_device_is_known_and_keeps_its_id(devices: Devices) -> None:
    cookie = devices.cookie(None, EMAIL)
    device = devices.known(cookie, EMAIL)

    assert device
    assert devices.known(devices.cookie(device, EMAIL), EMAIL) == device
    assert devices.known(devices.cookie(None, EMAIL), EMAIL) != device


def test_a_device_is_known_for_its_account_only(devices: Devices) -> None:
    assert devices.known(devices.cookie(None, "another@example.com"), EMAIL) is None


def test_nobody_makes_one(devices: Devices, box: SecretBox) -> None:
    other = Devices(SecretBox(Fernet.generate_key().decode()))
    made_up = (None, "", "x", "ü" * 40, "\x00", other.cookie(None, EMAIL), box.encrypt("a b"))

    assert [devices.known(cookie, EMAIL) for cookie in made_up] == [None] * len(made_up)
    # What else is encrypted with the key is no device, even where its text is chosen by others.
    assert devices.known(box.encrypt(f"id {EMAIL}"), EMAIL) is None


def test_a_device_is_forgotten(devices: Devices, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1_790_000_000
    monkeypatch.setattr("time.time", lambda: now)
    cookie = devices.cookie(None, EMAIL)

    now += DEVICE_SECONDS
    assert devices.known(cookie, EMAIL)
    now += 1
    assert devices.known(cookie, EMAIL) is None
