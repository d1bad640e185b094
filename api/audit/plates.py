"""Masks plates in the audit log, and adds keyed hashes by which known plates can be found."""

import hmac
from collections.abc import Iterable, Mapping
from typing import Any, Final
from uuid import UUID

import msgspec
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from common.plates.normalise import mask_plate, normalise_plate

HASHES: Final = "plateHashes"
"""Parameter of an entry that contains the hashes of the entry's plates."""

_SETTING: Final = "platestream.plate_hashes"
_PURPOSE: Final = b"platestream audit plates"
_HASH_BYTES: Final = 16


class PlateHashes:
    """Hashes plates with the installation's secret keys. Hashes differ between accounts."""

    def __init__(self, keys: str) -> None:
        """``keys`` are comma-separated. New hashes use the first key; searches use all keys."""
        self._keys = [
            hmac.digest(key.strip().encode(), _PURPOSE, "sha256") for key in keys.split(",")
        ]

    def hash_plate(self, owner_id: UUID, plate: str) -> str:
        """Return the hash of a plate in any spelling, in lower-case hexadecimal."""
        return _hash(self._keys[0], owner_id, plate)

    def under_all_keys(self, owner_id: UUID, plate: str) -> tuple[str, ...]:
        """Return the hashes that entries can contain for a plate, one per key."""
        return tuple(_hash(key, owner_id, plate) for key in self._keys)

    def announce(self, session: Session, owner_id: UUID, plates: Iterable[str]) -> None:
        """Add hashes of plates to the entries that database triggers write in this transaction."""
        hashes = sorted({self.hash_plate(owner_id, plate) for plate in plates})
        value = msgspec.json.encode(hashes).decode() if hashes else ""
        session.execute(select(func.set_config(_SETTING, value, True)))

    def protected(self, owner_id: UUID, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the parameters of a call with the plate masked and a hash of the plate added."""
        plate = parameters.get("plate")
        if plate is None:
            return parameters
        masked = mask_plate(normalise_plate(plate))
        return {**parameters, "plate": masked, HASHES: (self.hash_plate(owner_id, plate),)}


def _hash(key: bytes, owner_id: UUID, plate: str) -> str:
    message = owner_id.bytes + normalise_plate(plate).encode()
    return hmac.digest(key, message, "sha256")[:_HASH_BYTES].hex()
