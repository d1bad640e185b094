"""Settings of ingest that are checked at the start."""

from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet
from pydantic import ValidationError

from ingest.app import capture_settings
from ingest.settings import IngestSettings
from tests.services.authority import Authority


def _settings(**given: Any) -> IngestSettings:
    needed = {
        "secret_key": Fernet.generate_key().decode(),
        "s3_access_key": "a",
        "s3_secret_key": "b",
    }
    return IngestSettings.model_validate(needed | given)


def test_cameras_are_trusted_as_the_settings_say(tmp_path: Path) -> None:
    file = str(Authority.make(tmp_path).ca_file)

    assert capture_settings(_settings()).reader.limits.ca_file == ""
    assert capture_settings(_settings(camera_ca_file=file)).reader.limits.ca_file == file


@pytest.mark.parametrize("text", [None, "", "no certificate"])
def test_a_file_without_certificates_is_refused(tmp_path: Path, text: str | None) -> None:
    file = tmp_path / "ca.pem"
    if text is not None:
        file.write_text(text)

    with pytest.raises(ValidationError, match="contains no PEM certificates"):
        _settings(camera_ca_file=str(file))
