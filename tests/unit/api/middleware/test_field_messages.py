"""Messages about invalid fields."""

from typing import Any

import pytest
from pydantic import ValidationError

from api.alerts.schemas import AlertCreate
from api.middleware.error_handlers import validation_faults
from api.recognitions.schemas import RecognitionQuery
from api.schemas import RequestModel
from api.webhooks.schemas import WebhookUpdate


def _said(model: Any, **sent: Any) -> dict[str, str]:
    with pytest.raises(ValidationError) as caught:
        model.model_validate(sent)
    return {fault.path: fault.message for fault in validation_faults(caught.value.errors())}


def test_each_fault_of_an_alert_has_its_sentence() -> None:
    assert _said(
        AlertCreate,
        description="x" * 2001,
        enabled="yes",
        plateMatchMode="none",
        plates="AB12",
        cameraIds=["1", 5],
        schedule=[],
        minConfidence=1.5,
        cooldownMinutes=-1,
        matchTolerance=0.5,
        notifications=[{"type": "email", "addresses": []}],
        plate="AB12",
    ) == {
        "name": "is required",
        "description": "must have at most 2000 characters",
        "enabled": "must be true or false",
        "plateMatchMode": "must be one of 'any', 'specific' or 'allowlist'",
        "plates": "must be an array",
        "cameraIds.0": "must be a UUID, for example 00000000-0000-0000-0000-000000000000",
        "cameraIds.1": "must be a UUID, for example 00000000-0000-0000-0000-000000000000",
        "schedule": "must be an object",
        "minConfidence": "must be at most 1",
        "cooldownMinutes": "must be at least 0",
        "matchTolerance": "must be an integer",
        "notifications.0.addresses": "must have at least 1 entry",
        "plate": "is not a known field",
    }


def test_an_event_is_recognised_by_its_name() -> None:
    said = _said(WebhookUpdate, events=["nope"], name="", secret="x" * 257)

    assert said["events.0"].startswith("must be one of 'recognition.created', 'alert.triggered'")
    assert "EventName" not in said["events.0"]
    assert said["name"] == "must not be blank"
    assert said["secret"] == "must have at most 256 characters"


def test_each_fault_of_a_query_has_its_sentence() -> None:
    assert _said(RecognitionQuery, limit="201", match="x", minConfidence="-1") == {
        "limit": "must be at most 200",
        "match": "must be one of 'exact', 'prefix', 'substring', 'wildcard' or 'fuzzy'",
        "minConfidence": "must be at least 0",
    }


def test_an_object_with_absurdly_many_names_is_one_fault() -> None:
    said = _said(RequestModel, **{f"n{number}": 1 for number in range(201)})

    assert said == {"body": "must have at most 200 fields"}
