"""Settings report all their errors together, and never reveal a secret."""

import pytest
from pydantic import SecretStr

from common.errors import MisconfiguredError
from common.secrets import SecretBox
from common.settings import (
    DatabaseSettings,
    KafkaSettings,
    S3Settings,
    load_settings,
)
from common.urls.camera_settings import CameraAddressSettings


class _Both(S3Settings, DatabaseSettings, KafkaSettings):
    pass


def test_all_faults_are_reported_at_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("PLATESTREAM_DATABASE_URL", raising=False)
    monkeypatch.delenv("PLATESTREAM_S3_SECRET_KEY", raising=False)
    monkeypatch.setenv("PLATESTREAM_S3_ENDPOINT", "ftp://hunter2@example.org")

    with pytest.raises(SystemExit) as caught:
        load_settings(_Both)

    printed = capsys.readouterr().err
    assert caught.value.code == 78
    assert {line.split(":")[0] for line in printed.splitlines()} == {
        "setting PLATESTREAM_DATABASE_URL",
        "setting PLATESTREAM_S3_SECRET_KEY",
        "setting PLATESTREAM_S3_ENDPOINT",
    }
    assert "hunter2" not in printed


def test_secrets_do_not_show_in_a_repr(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLATESTREAM_DATABASE_URL", "postgresql://u:hunter2@h/d")

    assert "hunter2" not in repr(load_settings(DatabaseSettings))


def test_a_number_out_of_range_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLATESTREAM_KAFKA_PARTITIONS", "0")

    with pytest.raises(SystemExit):
        load_settings(KafkaSettings)


KEY = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
OTHER_KEY = "YWJjZGVmZ2hpamFiY2RlZmdoaWphYmNkZWZnaGlqYWI="


def test_a_rotated_key_still_opens_old_secrets() -> None:
    token = SecretBox(KEY).encrypt("rtsp://u:p@h/")

    assert SecretBox(f"{OTHER_KEY},{KEY}").decrypt(token) == "rtsp://u:p@h/"


def test_a_foreign_key_opens_nothing() -> None:
    with pytest.raises(MisconfiguredError):
        SecretBox(OTHER_KEY).decrypt(SecretBox(KEY).encrypt("x"))


def test_a_key_that_is_no_key_stops_the_start() -> None:
    with pytest.raises(MisconfiguredError, match="PLATESTREAM_SECRET_KEY"):
        SecretBox("change-me")


def test_settings_hold_secrets_as_secrets() -> None:
    assert DatabaseSettings.model_fields["database_url"].annotation is SecretStr


def test_a_network_that_is_none_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PLATESTREAM_CAMERA_DENIED_NETWORKS", "10.0.0.0/8,10.0.0/24")

    with pytest.raises(SystemExit):
        load_settings(CameraAddressSettings)

    printed = capsys.readouterr().err
    assert printed.startswith("setting PLATESTREAM_CAMERA_DENIED_NETWORKS: ")
    assert "'10.0.0/24' does not appear to be an IPv4 or IPv6 network" in printed
