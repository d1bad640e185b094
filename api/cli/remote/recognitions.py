"""Implements ``platestream search``, ``watch`` and ``recognize``, which call the API."""

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

CameraOption = Annotated[str | None, typer.Option("--camera", help="ID of a camera.")]
ConfidenceOption = Annotated[float | None, typer.Option("--min-confidence", min=0, max=1)]


def search(
    plate: Annotated[
        str | None, typer.Argument(help="Plate or pattern, interpreted according to --match.")
    ] = None,
    match: Annotated[
        str | None, typer.Option(help="substring, exact, prefix, wildcard or fuzzy.")
    ] = None,
    camera: CameraOption = None,
    since: Annotated[str | None, typer.Option("--from", help=MOMENT_HELP)] = None,
    until: Annotated[str | None, typer.Option("--to", help=MOMENT_HELP)] = None,
    min_confidence: ConfidenceOption = None,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of recognitions.")] = 50,
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
    show_table(("TIME", "PLATE", "CONFIDENCE", "REGION", "CAMERA", "ID"), map(_row, found))


def watch(camera: CameraOption = None, as_json: JsonOption = False) -> None:
    """Show new recognitions as they arrive, one per line, until Ctrl-C. Reconnects if needed."""
    try:
        # A wrong URL ends the command immediately. A connection lost later is retried.
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
    store: Annotated[bool, typer.Option("--store", help="Store the recognitions.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Recognise plates in images, one credit each. Exits with status 1 if an image failed."""
    with connected() as api:
        results = [_recognized(api, each, store) for each in with_progress(photo, "images")]
    if as_json:
        show_json({"photos": results})
    else:
        rows = (row for one in results for row in _rows(one))
        show_table(("IMAGE", "PLATE", "CONFIDENCE"), rows)
    if any("error" in one for one in results):
        raise typer.Exit(1)


def _print_gap(_: str) -> None:
    typer.echo("some recognitions were skipped: they arrived too fast or are too old", err=True)


def _recognized(api: Client, photo: Path, store: bool) -> Json:
    try:
        response = api.recognitions.recognize(photo.read_bytes(), store=store)
    except ApiError as error:
        return {"photo": str(photo), "error": sentence(error)}
    return {"photo": str(photo), **response}


def _rows(result: Json) -> Iterator[tuple[Any, ...]]:
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
