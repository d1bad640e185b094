"""Implements ``platestream stack``, and ``platestream camera``, which covers all accounts."""

import asyncio
from pathlib import Path
from typing import Annotated, Any

import typer

from api.cameras.repository import CameraRow, list_cameras
from api.cli.commands import JsonOption, answer, command_group
from api.cli.shared import (
    exit_on_service_error,
    in_database,
    load_command_settings,
    settings_with_logs,
    shown_time,
)

camera_app = command_group("List cameras of all accounts.")
stack_app = command_group("Check and prepare the servers of the installation.")

_BUCKET_SECONDS = 10.0


@camera_app.command("list")
def camera_list(as_json: JsonOption = False) -> None:
    """List the cameras of all accounts, newest first."""
    cameras = in_database(list_cameras)
    lines = [
        f"{camera.id}\t{camera.values.name}\t{'enabled' if camera.values.enabled else 'disabled'}"
        for camera in cameras
    ]
    answer({"cameras": [_camera_fields(camera) for camera in cameras]}, as_json, "\n".join(lines))


@stack_app.command("check")
def stack_check(
    api_url: Annotated[
        str | None, typer.Option(help="Also check whether the API at this URL responds.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Check PostgreSQL, ClickHouse, Kafka and S3. Exits with status 1 if a check fails.

    Warnings, such as unencrypted passwords or nearly full disks, do not affect the exit status.
    """
    # Imported here: importing all servers' clients takes over half of a command's start time.
    from api.health.stack_check import (
        StackSettings,
        check_stack,
        partition_warnings,
        pooler_warnings,
        stack_warnings,
    )

    settings = settings_with_logs(StackSettings)
    found = exit_on_service_error(lambda: asyncio.run(check_stack(settings, api_url)))
    checks = {name: fault or "ok" for name, fault in found.faults.items()}
    status = "ready" if found.is_ready else "not ready"
    warnings = [*stack_warnings(settings), *pooler_warnings(settings)]
    warnings += [*partition_warnings(settings), *found.warnings]
    lines = [f"{name}\t{result}" for name, result in checks.items()]
    lines += [f"warning\t{sentence}" for sentence in warnings]
    fields: dict[str, object] = {"status": status, "checks": checks, "warnings": warnings}
    answer(fields, as_json, "\n".join(lines))
    if not found.is_ready:
        raise typer.Exit(1)


@stack_app.command("partitions")
def stack_partitions(
    apply: Annotated[
        bool, typer.Option("--apply", help="Recreate the topics to apply the configured number.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Show how many partitions the Kafka topics have, or apply the configured number."""
    from api.health.stack_check import PartitionSettings, apply_partitions, partition_state

    settings = settings_with_logs(PartitionSettings)
    if apply:
        exit_on_service_error(lambda: apply_partitions(settings))
    state = exit_on_service_error(lambda: partition_state(settings))
    fields = {
        "partitions": sorted(state.numbers),
        "wanted": settings.kafka_partitions,
        "running": list(state.running),
        "waiting": dict(state.waiting),
    }
    numbers = " and ".join(map(str, sorted(state.numbers))) or "no"
    lines = [f"{numbers} partitions; PLATESTREAM_KAFKA_PARTITIONS is {settings.kafka_partitions}"]
    lines += [f"running\t{name}" for name in state.running]
    lines += [f"waiting\t{name}\t{count}" for name, count in state.waiting.items()]
    answer(fields, as_json, "\n".join(lines))


@stack_app.command("make-bucket")
def stack_make_bucket(
    policy: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="JSON file with a bucket policy to set."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Create the image bucket if it does not exist, and set its policy. Safe to repeat."""
    from common.s3 import S3Bucket
    from common.settings import S3Settings

    settings = load_command_settings(S3Settings)
    bucket = S3Bucket(settings, read_seconds=_BUCKET_SECONDS, connections=1)
    existed = exit_on_service_error(bucket.exists)
    if not existed:
        exit_on_service_error(bucket.make)
    if policy is not None:
        text = policy.read_text(encoding="utf-8")
        exit_on_service_error(lambda: bucket.set_policy(text))
    result = "already exists" if existed else "created"
    fields = {"bucket": settings.s3_bucket, "made": not existed}
    answer(fields, as_json, f"bucket {settings.s3_bucket}: {result}")


def _camera_fields(camera: CameraRow) -> dict[str, Any]:
    return {
        "id": str(camera.id),
        "ownerId": str(camera.owner_id),
        "identifier": camera.values.identifier,
        "name": camera.values.name,
        "location": camera.values.location,
        "rtspUrl": camera.values.stream_url_shown,
        "enabled": camera.values.enabled,
        "createdAt": shown_time(camera.created_at),
    }
