"""Devices on which an owner logged in before: a cookie that only this installation can make."""

import hashlib
import secrets
from typing import Final

from common.errors import MisconfiguredError
from common.secrets import SecretBox

DEVICE_COOKIE: Final = "device"
"""Name of the cookie that a log-in leaves for the next one; it opens nothing."""

DEVICE_SECONDS: Final = 180 * 86_400
"""A device is known for so long after its latest log-in."""

_PURPOSE = "login-device"
_ID_BYTES = 12


class Devices:
    """Makes and reads the cookies of devices, each for one account."""

    def __init__(self, box: SecretBox) -> None:
        """``box`` encrypts them, so that nobody can make one."""
        self._box = box

    def known(self, cookie: str | None, email: str) -> str | None:
        """Return the device's id; None: nobody logged in to the account on it, or long ago."""
        if not cookie:
            return None
        try:
            content = self._box.decrypt(cookie, max_age_seconds=DEVICE_SECONDS)
        except MisconfiguredError:
            return None
        device, _, rest = content.partition(" ")
        return device if rest == _account(email) else None

    def cookie(self, device: str | None, email: str) -> str:
        """Return the cookie of a device that has just logged in; None: it did for the first time.

        A known one keeps its id, and so what it failed before.
        """
        return self._box.encrypt(f"{device or secrets.token_hex(_ID_BYTES)} {_account(email)}")


def _account(email: str) -> str:
    # Says what it is for: nothing else that is encrypted with the key passes as a device.
    return f"{_PURPOSE} {hashlib.sha256(email.encode()).hexdigest()}"
