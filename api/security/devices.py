"""Uses an encrypted cookie to recognise devices from which a person has logged in before."""

import hashlib
import secrets
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from common.errors import MisconfiguredError
from common.secrets import SecretBox

DEVICE_COOKIE: Final = "device"
"""Name of the cookie that a login sets for the next login. The cookie grants no access."""

DEVICE_SECONDS: Final = 180 * 86_400
"""Time for which a device is known after the latest login."""

_PURPOSE = "login-device"
_ID_BYTES = 12


@dataclass(frozen=True)
class Device:
    """A device on which a person has logged in before."""

    id: str
    person_id: UUID


class Devices:
    """Creates and reads device cookies. Each cookie is for one person."""

    def __init__(self, box: SecretBox) -> None:
        """``box`` encrypts the cookies, so that only this installation can create them."""
        self._box = box

    def known(self, cookie: str | None, email: str) -> Device | None:
        """Return the device in a cookie if ``email`` recently logged in on the device, or None."""
        device, login = self._read(cookie)
        return device if login == _login(email) else None

    def person(self, cookie: str | None) -> UUID | None:
        """Return the person's ID from a valid cookie, for any email address, or None."""
        device, login = self._read(cookie)
        return device.person_id if device is not None and login.startswith(_PURPOSE) else None

    def cookie(self, known: Device | None, email: str, person_id: UUID) -> str:
        """Return the cookie for a device on which a person has just logged in.

        A known device of this person keeps its ID, so that failures continue to be counted.
        """
        if known is None or known.person_id != person_id:
            known = Device(secrets.token_hex(_ID_BYTES), person_id)
        return self._box.encrypt(f"{known.id} {person_id} {_login(email)}")

    def _read(self, cookie: str | None) -> tuple[Device | None, str]:
        """Return the device and the hashed login in a cookie, or None and "" if it is not valid."""
        if not cookie:
            return None, ""
        try:
            content = self._box.decrypt(cookie, max_age_seconds=DEVICE_SECONDS)
            device, person, login = content.split(" ", 2)
            return Device(device, UUID(person)), login
        except (MisconfiguredError, ValueError):
            return None, ""


def _login(email: str) -> str:
    # The purpose ensures that other data encrypted with the key is not accepted as a device.
    return f"{_PURPOSE} {hashlib.sha256(email.encode()).hexdigest()}"
