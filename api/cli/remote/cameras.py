"""Implements ``platestream cameras``, which manages the cameras of the API key's account."""

import sys
from collections.abc import Callable, Mapping
from operator import itemgetter
from pathlib import Path
from typing import Annotated, Any, Final, cast

import typer
from platestream_client import ApiError, Client
from platestream_client.models import (
    CameraBody,
    CameraCreate,
    CameraLogin,
    CameraTest,
    FileEncoding,
    ImportedCameraBody,
)

from api.cli.commands import (
    JsonOption,
    PasswordStdinOption,
    command_group,
    fail,
    read_password,
    with_progress,
)
from api.cli.remote.connection import Json, connected, sentence
from api.cli.remote.shown import (
    EncodingOption,
    YesOption,
    confirm,
    local_time,
    show_answer,
    show_json,
    show_listed,
    show_skipped,
    show_table,
)

cameras_app = command_group("Manage your cameras.")

_EXISTS_CODE: Final = "duplicate_identifier"
_COLUMNS: Final[Mapping[str, Callable[[CameraBody], Any]]] = {
    "ID": itemgetter("id"),
    "NAME": itemgetter("name"),
    "STATUS": itemgetter("status"),
    "LAST FRAME": lambda camera: local_time(camera["lastSeenAt"]),
    "ERROR": itemgetter("lastError"),
}

CameraId = Annotated[str, typer.Argument(help="ID of the camera.")]
StreamUrl = Annotated[
    str,
    typer.Argument(
        metavar="RTSP_URL",
        help="Stream URL, or - to read it from standard input. Arguments, including passwords, are"
        " visible to other users of this machine.",
    ),
]
UsernameOption = Annotated[
    str | None, typer.Option(help="User name at the camera. Prompts for the password.")
]


@cameras_app.command("list")
def list_cameras(as_json: JsonOption = False) -> None:
    """List cameras and their status."""
    with connected() as api:
        show_listed(as_json, "cameras", list(api.cameras.all()), _COLUMNS)


@cameras_app.command("status")
def status(camera_id: CameraId, as_json: JsonOption = False) -> None:
    """Show a camera. Exits with status 1 if the camera is not online."""
    with connected() as api:
        camera = api.cameras.get(camera_id)
    if as_json:
        show_json({"camera": camera})
    else:
        show_table(("FIELD", "VALUE"), camera.items())
    if camera["status"] != "online":
        raise typer.Exit(1)


@cameras_app.command("add")
def add(
    name: Annotated[str, typer.Argument(help="Name of the camera.")],
    rtsp_url: StreamUrl,
    username: UsernameOption = None,
    password_stdin: PasswordStdinOption = False,
    location: Annotated[str, typer.Option(help="Location, free text.")] = "",
    identifier: Annotated[str | None, typer.Option(help="Your own ID, unique per account.")] = None,
    timezone: Annotated[str | None, typer.Option(help="IANA time zone.")] = None,
    sample_fps: Annotated[float | None, typer.Option(help="Frames per second to analyse.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Add a camera."""
    optional = {"identifier": identifier, "timezone": timezone, "sampleFps": sample_fps}
    body = {
        "name": name,
        **_stream(rtsp_url, username, from_stdin=password_stdin),
        "location": location,
        **{field: value for field, value in optional.items() if value is not None},
    }
    with connected() as api:
        made = api.cameras.create(cast(CameraCreate, body))
    show_answer(as_json, {"camera": made}, f"created camera {made['id']} ({made['status']})")


@cameras_app.command("test")
def test(
    rtsp_url: StreamUrl,
    username: UsernameOption = None,
    password_stdin: PasswordStdinOption = False,
    picture: Annotated[Path | None, typer.Option(help="File for the first image (JPEG).")] = None,
    as_json: JsonOption = False,
) -> None:
    """Test whether a stream URL delivers video. Exits with status 1 on failure. Stores nothing."""
    import base64

    stream = _stream(rtsp_url, username, from_stdin=password_stdin)
    with connected() as api:
        tested = api.cameras.test(cast(CameraTest, stream))
    found: Json = {**tested}
    image = found.pop("picture")
    if image and picture is not None:
        picture.write_bytes(base64.b64decode(image))
    size = f"{found['frameWidth']} × {found['frameHeight']}"
    seconds = found["keyFrameSeconds"]
    interval = "none within 5 s; set 1 or 2 s in the camera" if seconds is None else f"{seconds} s"
    received = f"received an image of {size} after {found['milliseconds']} ms"
    received += f"\ninterval of key frames: {interval}"
    show_answer(as_json, {"test": found}, received if found["reachable"] else found["error"])
    if not found["reachable"]:
        raise typer.Exit(1)


@cameras_app.command("discover")
def discover(
    address: Annotated[
        str, typer.Argument(help="Host name or IP address of a camera; all cameras by default.")
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """Find the ONVIF cameras in the networks of the API server."""
    with connected() as api:
        found = api.cameras.discover(address)
    _show_found(as_json, "devices", found, "name", "model", "deviceUrl")


@cameras_app.command("streams")
def streams(
    device_url: Annotated[str, typer.Argument(help="Device URL, as listed by 'discover'.")],
    username: UsernameOption = None,
    password_stdin: PasswordStdinOption = False,
    as_json: JsonOption = False,
) -> None:
    """List the streams of an ONVIF camera."""
    body = {"deviceUrl": device_url, **_login(username, from_stdin=password_stdin)}
    with connected() as api:
        found = api.cameras.discover_streams(cast(CameraLogin, body))
    _show_found(as_json, "streams", found, "name", "codec", "frameWidth", "frameHeight", "rtspUrl")


@cameras_app.command("import")
def import_cameras(
    file: Annotated[typer.FileBinaryRead, typer.Argument(help="CSV file, or - for stdin.")],
    encoding: EncodingOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add the cameras in a CSV file with the columns of the console's import.

    Existing cameras are unchanged. Exits with status 1 if a camera failed or a row was skipped.
    """
    with connected() as api:
        given = cast(FileEncoding | None, encoding)
        found = api.cameras.read_csv(file.read(), encoding=given)
        results = [_register(api, row) for row in with_progress(found["cameras"], "cameras")]
    counts = {what: sum(one["result"] == what for one in results) for what in _RESULTS}
    show_skipped(found)
    if as_json:
        show_json({**counts, "lines": results, "skipped": found["skipped"]})
    else:
        for one in results:
            if one["result"] == "failed":
                typer.echo(f"line {one['line']}, {one['name']}: {one['error']}", err=True)
        typer.echo(", ".join(f"{count} {what}" for what, count in counts.items()))
    if counts["failed"] or found["skipped"]:
        raise typer.Exit(1)


@cameras_app.command("enable")
def enable(camera_id: CameraId) -> None:
    """Enable a camera."""
    with connected() as api:
        api.cameras.update(camera_id, {"enabled": True})


@cameras_app.command("disable")
def disable(camera_id: CameraId) -> None:
    """Disable a camera."""
    with connected() as api:
        api.cameras.update(camera_id, {"enabled": False})


@cameras_app.command("snapshot")
def snapshot(
    camera_id: CameraId,
    file: Annotated[Path, typer.Argument(help="Output file (JPEG).")],
) -> None:
    """Save the latest frame of a camera to a file."""
    with connected() as api:
        file.write_bytes(api.cameras.snapshot(camera_id).content)


@cameras_app.command("remove")
def remove(camera_id: CameraId, yes: YesOption = False, as_json: JsonOption = False) -> None:
    """Delete a camera. Its recognitions remain."""
    with connected() as api:
        camera = api.cameras.get(camera_id)
        confirm(f"Delete the camera {camera['name']}?", yes)
        deleted = api.cameras.delete(camera_id)
    text = f"deleted {camera['name']}; {deleted['creditsRefunded']} credits refunded"
    show_answer(as_json, deleted, text)


_RESULTS: Final = ("added", "already there", "failed")


def _register(api: Client, row: ImportedCameraBody) -> Json:
    line, body = row["line"], row["camera"]
    result: Json = {"line": line, "name": body.get("name", ""), "result": "added"}
    try:
        made = api.cameras.create(cast(CameraCreate, body))
    except ApiError as error:
        exists = error.code == _EXISTS_CODE
        return result | {
            "result": "already there" if exists else "failed",
            **({} if exists else {"error": sentence(error)}),
        }
    return result | {"id": made["id"]}


def _show_found(as_json: bool, name: str, found: Mapping[str, Any], *fields: str) -> None:
    if found["error"]:
        fail(found["error"])
    columns = {field.upper(): itemgetter(field) for field in fields}
    show_listed(as_json, name, found[name], columns)


def _stream(url: str, username: str | None, *, from_stdin: bool) -> Json:
    """Return the stream's fields. Standard input has the URL if it is -, then the password."""
    stream = {"rtspUrl": sys.stdin.readline() if url == "-" else url}
    return stream | _login(username, from_stdin=from_stdin)


def _login(username: str | None, *, from_stdin: bool) -> Json:
    if username is None:
        return {}
    return {"username": username, "password": read_password(from_stdin=from_stdin)}
