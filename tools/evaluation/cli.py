"""``platestream evaluate``: how well the engine, as it is set, reads photos of one's own."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from api.cli.shared import leave_standard_output_to_answers
from common.errors import InvalidInputError, PlatestreamError
from common.settings import load_settings

ModelOption = Annotated[
    Path | None, typer.Option(help="Model in place of the one that the settings name.")
]

evaluate_app = typer.Typer(
    add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None
)


@evaluate_app.command()
def evaluate(
    photos: Annotated[
        Path,
        typer.Argument(help="JSON lines: image, plates [{text, box}] (docs/accuracy.md)."),
    ],
    split: Annotated[str | None, typer.Option(help="Only photos of this split.")] = None,
    detector: ModelOption = None,
    reader: ModelOption = None,
    report: Annotated[
        Path | None, typer.Option(help="Write an HTML page with a picture of every miss.")
    ] = None,
    predictions: Annotated[
        Path | None, typer.Option(help="Write what was read, one photo a line.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Answer in JSON.")] = False,
) -> None:
    """Measure the engine on labelled photos of your own; nothing is sent anywhere."""
    leave_standard_output_to_answers()
    try:
        _evaluate(photos, split, detector, reader, report, predictions, as_json)
    except (PlatestreamError, OSError) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from error


def _evaluate(
    path: Path,
    split: str | None,
    detector: Path | None,
    reader: Path | None,
    report: Path | None,
    predictions: Path | None,
    as_json: bool,
) -> None:
    # Imported here: OpenCV and a model runtime would slow down every other command.
    from recognition.engine import Recognizer
    from recognition.settings import RecognizerSettings
    from tools.evaluation import command
    from tools.evaluation.photos import load_photo_file
    from tools.evaluation.report import write_report
    from tools.evaluation.summary import as_text

    named = {"recognition_detector_model": detector, "recognition_reader_model": reader}
    settings = load_settings(RecognizerSettings)
    given: dict[str, object] = {k: v for k, v in named.items() if v is not None}
    if reader is not None:
        # A reader of the hub would come before the file.
        given["recognition_reader_hub_model"] = None
    settings = settings.model_copy(update=given)
    found = load_photo_file(path, split)
    if not found:
        raise InvalidInputError(f"{path} has no photos of this split", code="no_photos")
    recognizer = Recognizer(settings)
    with typer.progressbar(length=len(found), label="photos", file=sys.stderr) as bar:
        evaluation = command.evaluate(
            found, recognizer, lambda: bar.update(1), pictures=report is not None
        )
    if predictions is not None:
        command.write_predictions(predictions, evaluation.looked)
    if report is not None:
        write_report(report, f"{path.name} {split or ''}", evaluation.summary, [*evaluation.misses])
    for refused in evaluation.refused:
        typer.echo(f"refused, counted as nothing found: {refused}", err=True)
    typer.echo(json.dumps(evaluation.summary.as_json()) if as_json else as_text(evaluation.summary))
