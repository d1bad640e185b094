"""Valid combinations of Kafka's security settings, and the resulting client options."""

import ssl
from pathlib import Path
from typing import Any

import faust
import pytest
import structlog
from cryptography.hazmat.primitives import serialization

from common.kafka.clients import consumer_options
from common.kafka.security import security_options, warn_unencrypted_login
from common.settings import KafkaSettings, load_settings
from streams.runtime.app import broker_credentials
from tests.services.authority import Authority

LOGIN = {
    "SASL_MECHANISM": "SCRAM-SHA-512",
    "SASL_USERNAME": "platestream",
    "SASL_PASSWORD": "hunter2",
}


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """Names of valid and invalid files."""
    authority = Authority.make(tmp_path)
    (tmp_path / "text.pem").write_text("no certificate")
    key = serialization.load_pem_private_key(authority.server_file.read_bytes(), None)
    locked = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"a password"),
    )
    (tmp_path / "locked.pem").write_bytes(locked)
    return {
        "ca": str(authority.ca_file),
        "pair": str(authority.server_file),
        "text": str(tmp_path / "text.pem"),
        "locked": str(tmp_path / "locked.pem"),
        "none": str(tmp_path / "none.pem"),
    }


def _load(monkeypatch: pytest.MonkeyPatch, **given: str) -> KafkaSettings:
    for name, value in given.items():
        monkeypatch.setenv(f"PLATESTREAM_KAFKA_{name}", value)
    return load_settings(KafkaSettings)


def test_without_any_of_it_kafka_is_spoken_to_in_the_clear(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = _load(monkeypatch)

    assert security_options(settings) == {"security_protocol": "PLAINTEXT"}
    assert broker_credentials(settings) is None


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            {"SECURITY_PROTOCOL": "SASL_SSL", "SASL_PASSWORD": "hunter2"},
            ["SASL_MECHANISM: is required", "SASL_USERNAME: is required"],
        ),
        ({**LOGIN, "SASL_PASSWORD": "", "SECURITY_PROTOCOL": "SASL_SSL"}, ["SASL_PASSWORD: is r"]),
        ({"SASL_MECHANISM": "PLAIN"}, ["SASL_MECHANISM: must not be set with"]),
        ({"SASL_PASSWORD": "hunter2", "SECURITY_PROTOCOL": "SSL"}, ["SASL_PASSWORD: must not"]),
        ({"SASL_MECHANISM": "GSSAPI"}, ["SASL_MECHANISM: Input should be 'PLAIN', 'SCRAM-SHA-256"]),
        ({"SECURITY_PROTOCOL": "TLS"}, ["SECURITY_PROTOCOL: Input should be 'PLAINTEXT', 'SSL'"]),
        ({"CA_FILE": "{ca}"}, ["CA_FILE: must not be set with"]),
        ({"CA_FILE": "{none}", "SECURITY_PROTOCOL": "SSL"}, ["CA_FILE: {none}: No such file"]),
        (
            {"CA_FILE": "{text}", "SECURITY_PROTOCOL": "SSL"},
            ["CA_FILE: the file contains no PEM certificates"],
        ),
        (
            {"CLIENT_CERTIFICATE_FILE": "{none}", "SECURITY_PROTOCOL": "SSL"},
            ["CLIENT_CERTIFICATE_FILE: {none}: No such file"],
        ),
        (
            {"CLIENT_CERTIFICATE_FILE": "{ca}", "SECURITY_PROTOCOL": "SSL"},
            ["CLIENT_CERTIFICATE_FILE: the certificate and key must be a matching pair"],
        ),
        (
            {"CLIENT_CERTIFICATE_FILE": "{locked}", "SECURITY_PROTOCOL": "SSL"},
            ["CLIENT_CERTIFICATE_FILE: the certificate and key must be a matching pair"],
        ),
    ],
)
def test_what_does_not_fit_together_is_reported_at_start(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    files: dict[str, str],
    given: dict[str, str],
    expected: list[str],
) -> None:
    with pytest.raises(SystemExit) as caught:
        _load(monkeypatch, **{name: value.format(**files) for name, value in given.items()})

    lines = capsys.readouterr().err.splitlines()
    assert caught.value.code == 78
    assert len(lines) == len(expected)
    for line, begin in zip(lines, expected, strict=True):
        assert line.startswith(f"setting PLATESTREAM_KAFKA_{begin.format(**files)}")
        assert "hunter2" not in line


def test_brokers_are_checked_by_their_name(
    monkeypatch: pytest.MonkeyPatch, files: dict[str, str]
) -> None:
    given = {"SECURITY_PROTOCOL": "SASL_SSL", "CA_FILE": files["ca"]}
    settings = _load(monkeypatch, **LOGIN, **given, CLIENT_CERTIFICATE_FILE=files["pair"])

    options = consumer_options(settings, "test")
    context = options["ssl_context"]
    assert isinstance(context, ssl.SSLContext)
    assert (context.check_hostname, context.verify_mode) == (True, ssl.CERT_REQUIRED)
    assert context.minimum_version >= ssl.TLSVersion.TLSv1_2
    assert options["security_protocol"] == "SASL_SSL"
    assert options["sasl_mechanism"] == "SCRAM-SHA-512"
    assert options["sasl_plain_username"] == "platestream"
    assert options["sasl_plain_password"] == "hunter2"
    assert "hunter2" not in repr(settings)


@pytest.mark.parametrize("protocol", ["SASL_SSL", "SASL_PLAINTEXT"])
def test_faust_logs_in_as_the_others_do(monkeypatch: pytest.MonkeyPatch, protocol: str) -> None:
    credentials: Any = broker_credentials(_load(monkeypatch, **LOGIN, SECURITY_PROTOCOL=protocol))

    assert isinstance(credentials, faust.SASLCredentials)
    assert credentials.protocol.value == protocol
    assert credentials.mechanism.value == "SCRAM-SHA-512"
    assert (credentials.username, credentials.password) == ("platestream", "hunter2")
    assert (credentials.ssl_context is not None) == (protocol == "SASL_SSL")
    assert "hunter2" not in repr(credentials)


def test_faust_checks_brokers_as_the_others_do(
    monkeypatch: pytest.MonkeyPatch, files: dict[str, str]
) -> None:
    settings = _load(monkeypatch, SECURITY_PROTOCOL="SSL", CA_FILE=files["ca"])

    credentials: Any = broker_credentials(settings)
    assert isinstance(credentials, faust.SSLCredentials)
    assert credentials.context.check_hostname


@pytest.mark.parametrize(
    ("protocol", "servers", "remote"),
    [
        ("SASL_PLAINTEXT", "10.0.0.7:9092,127.0.0.1:9092", ["10.0.0.7:9092"]),
        ("SASL_PLAINTEXT", "kafka.example:9092,[::1]:9092", ["kafka.example:9092"]),
        ("SASL_PLAINTEXT", "localhost:9092,[::1]:9093", []),
        ("SASL_SSL", "10.0.0.7:9093", []),
    ],
)
def test_a_login_in_the_clear_is_warned_of_once(
    monkeypatch: pytest.MonkeyPatch, protocol: str, servers: str, remote: list[str]
) -> None:
    settings = _load(monkeypatch, **LOGIN, SECURITY_PROTOCOL=protocol, BOOTSTRAP_SERVERS=servers)

    with structlog.testing.capture_logs() as logs:
        warn_unencrypted_login(settings)
        warn_unencrypted_login(settings)
    assert [(line["event"], line["servers"]) for line in logs] == (
        [("kafka_login_unencrypted", remote)] if remote else []
    )
