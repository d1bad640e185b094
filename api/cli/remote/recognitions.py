"""``platestream search``, ``watch`` and ``recognize``: plates by way of the API."""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from api.cli.commands import JsonOption, with_progress
from api.cli.remote.connection import MAX_PAGE, Json, RefusedError, RemoteApi, connected
from api.cli.remote.shown import local_time, moment, show_json, show_table

_MOMENT: Final = "An ISO 8601 date-time, or 30m, 24h, 7d ago."
_DATA: Final = b"data: "
_ID: Final = b"id: "
_EVENT: Final = b"event: "
_GAP: Final = b"reset"
_PAUSE_S: Final = 3.0

PlateArgument = Annotated[str | None, typer.Argument(help="The plate, or what match makes of it.")]
CameraOption = Annotated[str | None, typer.Option("--camera", help="Id of a camera.")]
SureOption = Annotated[float | None, typer.Option("--min-confidence", min=0, max=1)]


def search(
    plate: Annotated[
        str | None, typer.Argument(help="The plate, or what match makes of it.")
    ] = None,
    match: Annotated[
        str | None, typer.Option(help="substring, exact, prefix, wildcard or fuzzy.")
    ] = None,
    camera: CameraOption = None,
    since: Annotated[str | None, typer.Option("--from", help=_MOMENT)] = None,
    until: Annotated[str | None, typer.Option("--to", help=_MOMENT)] = None,
    min_confidence: SureOption = None,
    limit: Annotated[int, typer.Option(min=1, help="Most recognitions.")] = 50,
    as_json: JsonOption = False,
) -> None:
    """Search recognitions, newest first."""
    query = {
        "plate": plate,
        "match": match,
        "cameraId": camera,
        "from": moment(since),
        "to": moment(until),
        "minConfidence": min_confidence,
    }
    with connected() as api:
        page = min(limit, MAX_PAGE)
        every = api.every("/api/recognitions", "recognitions", page=page, **query)
        found = list(islice(every, limit))
    if as_json:
        show_json({"recognitions": found})
        return
    show_table(("TIME", "PLATE", "SURE", "REGION", "CAMERA", "ID"), map(_row, found))


def watch(camera: CameraOption = None, as_json: JsonOption = False) -> None:
    """Show recognitions as they come, a line each, until Ctrl-C; a break of the line is healed."""
    try:
        with connected() as api:
            for recognition in _Live(api, camera).recognitions():
                if as_json:
                    typer.echo(json.dumps(recognition, ensure_ascii=False))
                else:
                    typer.echo("  ".join(map(str, _row(recognition))))
    except KeyboardInterrupt:
        raise typer.Exit from None


def recognize(
    photo: Annotated[list[Path], typer.Argument(exists=True, dir_okay=False, help="JPEG or PNG.")],
    store: Annotated[bool, typer.Option("--store", help="Keep what is found.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Read the plates of photos; each costs a credit. 1 where one of them was not read."""
    with connected() as api:
        results = [_recognized(api, each, store) for each in with_progress(photo, "photos")]
    if as_json:
        show_json({"photos": results})
    else:
        show_table(("PHOTO", "PLATE", "SURE"), (line for one in results for line in _lines(one)))
    if any("error" in one for one in results):
        raise typer.Exit(1)


@dataclass
class _Live:
    """The stream of new recognitions, taken up again where it broke off."""

    api: RemoteApi
    camera: str | None
    last_id: str | None = field(default=None, init=False)

    def recognitions(self) -> Iterator[Json]:
        # A wrong address or key ends it at once; once it ran, the line may come and go.
        while True:
            try:
                yield from self._events()
            except (OSError, _line_errors()) as error:
                if self.last_id is None:
                    raise
                typer.echo(f"the line broke ({type(error).__name__}); trying again", err=True)
            time.sleep(_PAUSE_S)

    def _events(self) -> Iterator[Json]:
        kind, lines = (
            b"",
            self.api.stream("/api/recognitions/stream", self.last_id, cameraId=self.camera),
        )
        for line in _whole_lines(lines):
            if line.startswith(_ID):
                self.last_id = line.removeprefix(_ID).decode()
            elif line.startswith(_EVENT):
                kind = line.removeprefix(_EVENT)
                if kind == _GAP:
                    typer.echo("some recognitions came too fast or too long ago to show", err=True)
            elif line.startswith(_DATA) and not kind:
                yield json.loads(line.removeprefix(_DATA))
            elif not line:
                kind = b""


def _line_errors() -> type[Exception]:
    import urllib3

    return urllib3.exceptions.HTTPError


def _whole_lines(parts: Iterator[bytes]) -> Iterator[bytes]:
    rest = b""
    for part in parts:
        *lines, rest = (rest + part).split(b"\n")
        yield from (line.rstrip(b"\r") for line in lines)


def _recognized(api: RemoteApi, photo: Path, store: bool) -> Json:
    try:
        said = api.post("/api/recognize", photo.read_bytes(), store="true" if store else None)
    except RefusedError as refusal:
        return {"photo": str(photo), "error": str(refusal)}
    return {"photo": str(photo), **said}


def _lines(result: Json) -> Iterator[tuple[Any, ...]]:
    if "error" in result:
        yield result["photo"], result["error"], ""
        return
    if not result["plates"]:
        yield result["photo"], "-", ""
    for plate in result["plates"]:
        yield result["photo"], plate["plate"], f"{plate['conf']:.1f} %"


def _row(recognition: Json) -> tuple[Any, ...]:
    return (
        local_time(recognition["timestamp"]),
        recognition["plate"],
        f"{recognition['confidence']:.0%}",
        recognition.get("region", {}).get("code", "-"),
        recognition["cameraName"],
        recognition["id"],
    )
