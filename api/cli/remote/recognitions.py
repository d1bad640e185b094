"""``platestream search``, ``watch`` and ``recognize``: plates by way of the API."""

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Final, cast

import typer
from platestream_client import ApiError, Client, RetryPolicy
from platestream_client.models import MatchMode, RecognitionBody

from api.cli.commands import JsonOption, with_progress
from api.cli.remote.connection import Json, connected, sentence
from api.cli.remote.shown import (
    MOMENT_HELP,
    local_time,
    moment,
    show_json,
    show_table,
)

_MAX_PAGE: Final = 200

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
    since: Annotated[str | None, typer.Option("--from", help=MOMENT_HELP)] = None,
    until: Annotated[str | None, typer.Option("--to", help=MOMENT_HELP)] = None,
    min_confidence: SureOption = None,
    limit: Annotated[int, typer.Option(min=1, help="Most recognitions.")] = 50,
    as_json: JsonOption = False,
) -> None:
    """Search recognitions, newest first."""
    with connected() as api:
        every = api.recognitions.search(
            plate=plate,
            match=cast(MatchMode | None, match),
            camera_id=camera,
            from_=moment(since) if since else None,
            to=moment(until) if until else None,
            min_confidence=min_confidence,
            page_size=min(limit, _MAX_PAGE),
        )
        found = list(islice(every, limit))
    if as_json:
        show_json({"recognitions": found})
        return
    show_table(("TIME", "PLATE", "SURE", "REGION", "CAMERA", "ID"), map(_row, found))


def watch(camera: CameraOption = None, as_json: JsonOption = False) -> None:
    """Show recognitions as they come, a line each, until Ctrl-C; a break of the line is healed."""
    try:
        # A wrong address ends it at once; once it ran, the connection may come and go.
        with connected(RetryPolicy(attempts=1)) as api:
            for recognition in api.recognitions.stream(camera_id=camera, on_gap=_print_gap):
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


def _print_gap(_: str) -> None:
    typer.echo("some recognitions came too fast or too long ago to show", err=True)


def _recognized(api: Client, photo: Path, store: bool) -> Json:
    try:
        said = api.recognitions.recognize(photo.read_bytes(), store=store)
    except ApiError as error:
        return {"photo": str(photo), "error": sentence(error)}
    return {"photo": str(photo), **said}


def _lines(result: Json) -> Iterator[tuple[Any, ...]]:
    if "error" in result:
        yield result["photo"], result["error"], ""
        return
    if not result["plates"]:
        yield result["photo"], "-", ""
    for plate in result["plates"]:
        yield result["photo"], plate["plate"], f"{plate['conf']:.1f} %"


def _row(recognition: RecognitionBody) -> tuple[Any, ...]:
    return (
        local_time(recognition["timestamp"]),
        recognition["plate"],
        f"{recognition['confidence']:.0%}",
        recognition["region"]["code"] if "region" in recognition else "-",
        recognition["cameraName"],
        recognition["id"],
    )
