from collections.abc import Mapping
from pathlib import Path

import pytest

from common.settings import KafkaSettings
from deploy.local.plan import APPLICATION, StackPlan, make_plan
from deploy.local.settings import LocalStackSettings


def _plan(
    root: Path, environment: Mapping[str, str] | None = None, **settings: object
) -> StackPlan:
    validated = LocalStackSettings.model_validate({"local_dir": root, **settings})
    return make_plan(validated, environment or {})


def _names(plan: StackPlan) -> list[str]:
    return [server.name for server in plan.servers]


@pytest.mark.parametrize(
    ("setting", "address", "left_out"),
    [
        ("kafka_bootstrap_servers", "kafka.example:9092", "kafka"),
        ("s3_endpoint", "https://s3.example", "s3"),
        ("database_url", "postgresql://u:p@db.example/x", "postgres"),
        ("clickhouse_url", "https://search.example:8443", "clickhouse"),
    ],
    ids=["kafka", "s3", "postgres", "clickhouse"],
)
def test_a_server_with_an_address_is_used_and_not_started(
    tmp_path: Path, setting: str, address: str, left_out: str
) -> None:
    variable = f"PLATESTREAM_{setting.upper()}"

    plan = _plan(tmp_path, {variable: address}, **{setting: address})

    assert left_out not in _names(plan)
    assert len(plan.servers) == 3
    assert plan.environment[variable] == address


def _given_to(plan: StackPlan) -> dict[str, dict[str, str]]:
    whole = plan.process_environment()
    programs = (program for group in plan.groups().values() for program in group)
    return {program.name: program.environment_within(whole) for program in programs}


def _holders(plan: StackPlan, variable: str) -> set[str]:
    return {name for name, given in _given_to(plan).items() if variable in given}


def test_what_the_caller_sets_reaches_every_process_that_uses_it_and_wins(tmp_path: Path) -> None:
    given = {"PLATESTREAM_INGEST_SAMPLE_FPS": "25", "PLATESTREAM_CAMERA_FILES_FOLDER": ""}

    plan = _plan(tmp_path, given)

    assert plan.process_environment().items() >= given.items()
    assert _given_to(plan)["ingest"].items() >= given.items()
    assert _holders(plan, "PLATESTREAM_INGEST_SAMPLE_FPS") == {"api", "ingest"}
    assert _holders(plan, "PLATESTREAM_CAMERA_FILES_FOLDER") == {"api", "ingest"}


def test_what_is_no_setting_reaches_the_services_own_processes(tmp_path: Path) -> None:
    given = {"HTTPS_PROXY": "http://user:password@proxy.example", "SSL_CERT_FILE": "/etc/ca.pem"}
    own = {program.name for program in APPLICATION}

    plan = _plan(tmp_path, {**given, "JAVA_TOOL_OPTIONS": "-Xint", "PATH": "/bin"})

    assert _holders(plan, "HTTPS_PROXY") == _holders(plan, "SSL_CERT_FILE") == own
    assert _holders(plan, "JAVA_TOOL_OPTIONS") == {*own, "kafka", "s3"}
    assert _holders(plan, "PATH") == {*own, *_names(plan)}


@pytest.mark.parametrize(
    ("secret", "holders"),
    [
        ("PLATESTREAM_SECRET_KEY", {"api", "ingest", "webhooks"}),
        ("PLATESTREAM_DATABASE_URL", {"api", "relay"}),
        ("PLATESTREAM_S3_SECRET_KEY", {"api", "ingest", "recognition", "webhooks"}),
        ("PLATESTREAM_CLICKHOUSE_PASSWORD", {"api", "clickhouse", "sink"}),
        ("PLATESTREAM_CLICKHOUSE_SERVER_READER_PASSWORD", {"clickhouse"}),
        ("PLATESTREAM_SMTP_PASSWORD", {"api", "webhooks"}),
        ("PLATESTREAM_MQTT_PASSWORD", {"mqtt"}),
        ("PLATESTREAM_OIDC_CLIENT_SECRET", {"api"}),
        ("PLATESTREAM_RATE_LIMIT_STORE_URL", {"api"}),
        ("PLATESTREAM_OF_ANOTHER_RELEASE", set()),
    ],
)
def test_a_secret_is_given_only_to_who_uses_it(
    tmp_path: Path, secret: str, holders: set[str]
) -> None:
    given = {"PLATESTREAM_MQTT_HOST": "broker.example", secret: "given"}

    assert _holders(_plan(tmp_path, given), secret) == holders


def test_mqtt_is_given_the_key_to_images_only_if_it_publishes_their_urls(tmp_path: Path) -> None:
    for shown, holds in (("off", False), ("crop", True)):
        given = {"PLATESTREAM_MQTT_HOST": "broker.example", "PLATESTREAM_MQTT_PICTURE": shown}
        holders = _holders(_plan(tmp_path, given), "PLATESTREAM_S3_SECRET_KEY")
        assert ("mqtt" in holders) is holds


def test_the_servers_are_given_no_setting_of_the_service(tmp_path: Path) -> None:
    given = _given_to(_plan(tmp_path))

    for server in ("kafka", "s3", "postgres"):
        assert not [name for name in given[server] if name.startswith("PLATESTREAM_")]


@pytest.mark.parametrize(("host", "is_started"), [(None, False), ("", False), ("broker", True)])
def test_the_mqtt_stage_runs_only_where_a_broker_is_named(
    tmp_path: Path, host: str | None, is_started: bool
) -> None:
    plan = _plan(tmp_path, {} if host is None else {"PLATESTREAM_MQTT_HOST": host})

    assert ("mqtt" in {program.name for program in plan.application}) is is_started


def test_the_embedded_kafka_lets_in_who_has_its_password(tmp_path: Path) -> None:
    plan = _plan(tmp_path)
    settings = KafkaSettings.model_validate(
        {
            name: plan.environment[variable]
            for variable, name in KafkaSettings.environment_names().items()
            if variable in plan.environment
        }
    )

    assert settings.kafka_security_protocol.has_login
    assert settings.kafka_sasl_password.get_secret_value() == plan.secrets.kafka_password
    assert plan.secrets.kafka_password not in repr(plan.servers)


def test_a_kafka_elsewhere_is_not_given_our_login(tmp_path: Path) -> None:
    given = {"PLATESTREAM_KAFKA_BOOTSTRAP_SERVERS": "kafka.example:9092"}
    plan = _plan(tmp_path, given, kafka_bootstrap_servers="kafka.example:9092")

    assert not [name for name in plan.environment if "_SASL_" in name or "KAFKA_SEC" in name]


def test_secrets_are_made_once_and_are_the_users_alone(tmp_path: Path) -> None:
    first, second = _plan(tmp_path), _plan(tmp_path)

    assert first.environment == second.environment
    assert (tmp_path / "secrets.json").stat().st_mode & 0o777 == 0o600


def test_two_installations_share_no_secret(tmp_path: Path) -> None:
    one, other = _plan(tmp_path / "one").secrets, _plan(tmp_path / "other").secrets

    assert not {getattr(one, name) for name in one.__struct_fields__} & {
        getattr(other, name) for name in other.__struct_fields__
    }


def test_secrets_are_not_shown(tmp_path: Path) -> None:
    plan = _plan(tmp_path)

    assert plan.secrets.owner_password not in repr(plan.secrets)
    assert plan.secrets.postgres_password not in repr(plan.servers)
    assert plan.secrets.s3_secret_key not in repr(plan.servers)
    assert plan.secrets.clickhouse_password not in repr(plan.servers)
