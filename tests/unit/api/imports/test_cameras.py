"""Imports of cameras from a CSV file."""

from api.imports.cameras import imported_cameras
from api.imports.tables import read_table


def test_a_row_that_is_too_short_has_its_required_fields() -> None:
    found = imported_cameras(
        read_table(b"name,rtspUrl,location\nGate north\nGate,rtsp://10.0.0.1/a,Yard\n")
    )

    assert [dict(each.camera) for each in found.cameras] == [
        {"name": "Gate north", "rtspUrl": ""},
        {"name": "Gate", "rtspUrl": "rtsp://10.0.0.1/a", "location": "Yard"},
    ]
    assert found.skipped == ()
