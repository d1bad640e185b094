"""``platestream cameras``: the cameras of the account whose key is used."""

import sys
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from api.cli.commands import JsonOption, command_group, with_progress
from api.cli.remote.connection import Json, RefusedError, RemoteApi, connected
from api.cli.remote.shown import (
    EncodingOption,
    confirm,
    local_time,
    show_json,
    show_skipped,
    show_table,
)

cameras_app = command_group("Your cameras.")

_IS_THERE: Final = "duplicate_identifier"

CameraId = Annotated[str, typer.Argument(help="Id of the camera.")]
StreamAddress = Annotated[
    str,
    typer.Argument(
        metavar="RTSP_URL",
        help="Address of the stream; - reads it from standard input: others on this machine see"
        " a password among the arguments.",
    ),
]
YesOption = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


@cameras_app.command("list")
def list_cameras(as_json: JsonOption = False) -> None:
    """Show the cameras and how they are doing."""
    with connected() as api:
        found = list(api.every("/api/cameras", "cameras"))
    if as_json:
        show_json({"cameras": found})
        return
    show_table(("ID", "NAME", "STATUS", "LAST PICTURE", "FAULT"), map(_row, found))


@cameras_app.command("status")
def status(camera_id: CameraId, as_json: JsonOption = False) -> None:
    """Show one camera; 1 where no picture comes."""
    with connected() as api:
        camera = api.get(f"/api/cameras/{camera_id}")["camera"]
    if as_json:
        show_json({"camera": camera})
    else:
        show_table(("FIELD", "VALUE"), camera.items())
    if camera["status"] != "online":
        raise typer.Exit(1)


@cameras_app.command("add")
def add(
    name: Annotated[str, typer.Argument(help="Name of the camera.")],
    rtsp_url: StreamAddress,
    location: Annotated[str, typer.Option(help="Where it is, for people.")] = "",
    identifier: Annotated[str | None, typer.Option(help="Unique in the account.")] = None,
    timezone: Annotated[str | None, typer.Option(help="IANA name.")] = None,
    sample_fps: Annotated[float | None, typer.Option(help="Frames a second to look at.")] = None,
    motion_url: Annotated[
        str | None,
        typer.Option(
            help="Address of its second, small stream, by which motion is judged; - reads it from"
            " standard input, after that of the stream."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Register a camera."""
    optional = {"identifier": identifier, "timezone": timezone, "sampleFps": sample_fps}
    body = {
        "name": name,
        "rtspUrl": _address(rtsp_url),
        **({} if motion_url is None else {"motionUrl": _address(motion_url)}),
        "location": location,
        **{field: value for field, value in optional.items() if value is not None},
    }
    with connected() as api:
        made = api.post("/api/cameras", body)
    if as_json:
        show_json(made)
    else:
        typer.echo(f"camera {made['camera']['id']} is {made['camera']['status']}")


@cameras_app.command("test")
def test(
    rtsp_url: StreamAddress,
    picture: Annotated[Path | None, typer.Option(help="File for the first picture (JPEG).")] = None,
    as_json: JsonOption = False,
) -> None:
    """Look whether pictures come from an address; nothing is kept. 1 where none comes."""
    import base64

    with connected() as api:
        found = api.post("/api/cameras/test", {"rtspUrl": _address(rtsp_url)})["test"]
    image = found.pop("picture")
    if image and picture is not None:
        picture.write_bytes(base64.b64decode(image))
    if as_json:
        show_json({"test": found})
    elif found["reachable"]:
        size = f"{found['frameWidth']} × {found['frameHeight']}"
        typer.echo(f"a picture of {size} came after {found['milliseconds']} ms")
    else:
        typer.echo(found["error"])
    if not found["reachable"]:
        raise typer.Exit(1)


@cameras_app.command("import")
def import_cameras(
    file: Annotated[typer.FileBinaryRead, typer.Argument(help="CSV file, or -.")],
    encoding: EncodingOption = None,
    as_json: JsonOption = False,
) -> None:
    """Register the cameras of a CSV file with the columns of the console's import.

    Cameras that exist already are left as they are. Exit with 1 if a camera was not registered or
    a row was skipped.
    """
    with connected() as api:
        found = api.read_csv("/api/cameras/import", file.read(), encoding)
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
    """Watch a camera."""
    with connected() as api:
        api.put(f"/api/cameras/{camera_id}", {"enabled": True})


@cameras_app.command("disable")
def disable(camera_id: CameraId) -> None:
    """Watch a camera no longer."""
    with connected() as api:
        api.put(f"/api/cameras/{camera_id}", {"enabled": False})


@cameras_app.command("snapshot")
def snapshot(
    camera_id: CameraId,
    file: Annotated[Path, typer.Argument(help="File for the picture (JPEG).")],
) -> None:
    """Keep the latest picture of a camera."""
    with connected() as api:
        file.write_bytes(api.download(f"/api/cameras/{camera_id}/snapshot"))


@cameras_app.command("remove")
def remove(camera_id: CameraId, yes: YesOption = False, as_json: JsonOption = False) -> None:
    """Delete a camera; its recognitions stay."""
    with connected() as api:
        camera = api.get(f"/api/cameras/{camera_id}")["camera"]
        confirm(f"Delete the camera {camera['name']}?", yes)
        gone = api.delete(f"/api/cameras/{camera_id}")
    if as_json:
        show_json(gone)
    else:
        typer.echo(f"{camera['name']} is deleted, {gone['creditsRefunded']} credits given back")


_RESULTS: Final = ("added", "already there", "failed")


def _register(api: RemoteApi, row: Json) -> Json:
    line, body = row["line"], row["camera"]
    result: Json = {"line": line, "name": body.get("name", ""), "result": "added"}
    try:
        made = api.post("/api/cameras", body)
    except RefusedError as refusal:
        is_there = refusal.code == _IS_THERE
        return result | {
            "result": "already there" if is_there else "failed",
            **({} if is_there else {"error": str(refusal)}),
        }
    return result | {"id": made["camera"]["id"]}


def _address(text: str) -> str:
    return sys.stdin.readline().strip() if text == "-" else text


def _row(camera: Json) -> tuple[Any, ...]:
    return (
        *(camera[field] for field in ("id", "name", "status")),
        local_time(camera["lastSeenAt"]),
        camera["lastError"],
    )
