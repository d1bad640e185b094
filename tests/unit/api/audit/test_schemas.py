"""Recorded changes have the API's field names, and secrets have no values."""

from api.audit_log.schemas import AuditChange, field_changes


def test_fields_have_the_names_of_the_api_and_secrets_no_values() -> None:
    told = field_changes(
        {
            "min_plate_width_px": {"before": 0, "after": 40},
            "stream_url_encrypted": {},
            "stream_url_shown": {"before": "rtsp://10.0.0.8/1", "after": "rtsp://10.0.0.9/1"},
            "secret_encrypted": {},
            "password_hash": {},
        }
    )

    assert told == [
        AuditChange(field="minPlateWidth", before=0, after=40),
        AuditChange(field="password"),
        AuditChange(field="rtspUrl", before="rtsp://10.0.0.8/1", after="rtsp://10.0.0.9/1"),
        AuditChange(field="secret"),
    ]
    assert told[1].model_dump(by_alias=True) == {"field": "password"}
