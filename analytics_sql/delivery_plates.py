"""Which plates a delivery's content names. ``plate_deliveries.sql`` says the same in SQL."""

from collections.abc import Iterator

import msgspec

from contracts.alert_records import AlertTrigger
from contracts.deliveries import Delivery, DeliveryAttempt
from contracts.plates import normalise_plate
from contracts.recognitions import Recognition


def plates_of(delivery: Delivery) -> frozenset[str]:
    """Return the plates (normalised) that passed, were told early, or stand in the alert."""
    return frozenset(normalise_plate(plate) for plate in _plates(delivery))


def without_content(attempt: DeliveryAttempt) -> DeliveryAttempt:
    """Return an attempt whose delivery carries nothing, as after its retention."""
    bare = msgspec.structs.replace(attempt.delivery, recognition=None, trigger=None, camera=None)
    return msgspec.structs.replace(attempt, delivery=bare)


def has_content(delivery: Delivery) -> bool:
    """Tell whether a delivery carries what it tells of."""
    return any((delivery.recognition, delivery.trigger, delivery.camera))


def _plates(delivery: Delivery) -> Iterator[str]:
    if delivery.recognition is not None:
        yield from _seen(delivery.recognition)
    if delivery.trigger is not None:
        yield from _told(delivery.trigger)


def _told(trigger: AlertTrigger) -> Iterator[str]:
    yield from _seen(trigger.recognition)
    yield from trigger.alert.plates
    if trigger.early is not None:
        yield trigger.early.plate


def _seen(recognition: Recognition) -> Iterator[str]:
    yield recognition.plate
    yield from (sighted.plate for sighted in recognition.sighted)
