"""Devices on which a person logged in before: a cookie that only this installation can create."""

import hashlib
import secrets
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from common.errors import MisconfiguredError
from common.secrets import SecretBox

DEVICE_COOKIE: Final = "device"
"""Name of the cookie that a log-in leaves for the next one; it opens nothing."""

DEVICE_SECONDS: Final = 180 * 86_400
"""A device is known for so long after its latest log-in."""

_PURPOSE = "login-device"
_ID_BYTES = 12


@dataclass(frozen=True)
class Device:
    """A device on which a person logged in before."""

    id: str
    person_id: UUID


class Devices:
    """Creates and reads the cookies of devices, each for one person."""

    def __init__(self, box: SecretBox) -> None:
        """``box`` encrypts them, so that nobody can make one."""
        self._box = box

    def known(self, cookie: str | None, email: str) -> Device | None:
        """Return the device of a cookie; None: no login with the address, or too long ago."""
        device, login = self._read(cookie)
        return device if login == _login(email) else None

    def person(self, cookie: str | None) -> UUID | None:
        """Return who logged in on the device of a cookie, with whatever address."""
        device, login = self._read(cookie)
        return device.person_id if device is not None and login.startswith(_PURPOSE) else None

    def cookie(self, known: Device | None, email: str, person_id: UUID) -> str:
        """Return the cookie of a device on which a person has just logged in.

        A device that is known for this person keeps its ID, with the failures counted for it.
        """
        if known is None or known.person_id != person_id:
            known = Device(secrets.token_hex(_ID_BYTES), person_id)
        return self._box.encrypt(f"{known.id} {person_id} {_login(email)}")

    def _read(self, cookie: str | None) -> tuple[Device | None, str]:
        """Return the device of a cookie, and the login for which it is known."""
        if not cookie:
            return None, ""
        try:
            content = self._box.decrypt(cookie, max_age_seconds=DEVICE_SECONDS)
            device, person, login = content.split(" ", 2)
            return Device(device, UUID(person)), login
        except (MisconfiguredError, ValueError):
            return None, ""


def _login(email: str) -> str:
    # Names the purpose: nothing else that is encrypted with the key passes as a device.
    return f"{_PURPOSE} {hashlib.sha256(email.encode()).hexdigest()}"
