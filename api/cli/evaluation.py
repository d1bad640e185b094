"""Implements ``platestream evaluate``, which measures accuracy on labelled photos."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from api.cli.shared import log_to_stderr
from common.errors import InvalidInputError, PlatestreamError
from common.settings import load_settings

ModelOption = Annotated[
    Path | None, typer.Option(help="Model to use instead of the configured one.")
]


def evaluate(
    photos: Annotated[
        Path,
        typer.Argument(help="JSON Lines: image, plates [{text, box}] (docs/accuracy.md)."),
    ],
    split: Annotated[str | None, typer.Option(help="Only photos of this split.")] = None,
    detector: ModelOption = None,
    reader: ModelOption = None,
    report: Annotated[
        Path | None, typer.Option(help="Write an HTML page with an image of every miss.")
    ] = None,
    predictions: Annotated[
        Path | None, typer.Option(help="Write the recognised plates, one photo per line.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Evaluate the recognition models on your own labelled photos, locally."""
    log_to_stderr()
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
    # Imported here, because OpenCV and a model runtime would slow down all other commands.
    from recognition.engine import Recognizer
    from recognition.evaluation.evaluate import PhotoResult, evaluate, write_predictions
    from recognition.evaluation.photos import load_photo_file
    from recognition.evaluation.report import Miss, as_text, misses, write_report
    from recognition.evaluation.summary import summarise
    from recognition.settings import RecognizerSettings

    named = {"recognition_detector_model": detector, "recognition_reader_model": reader}
    given = {name: str(file) for name, file in named.items() if file is not None}
    settings = RecognizerSettings.model_validate(
        load_settings(RecognizerSettings).model_dump() | given
    )
    found = load_photo_file(path, split)
    if not found:
        raise InvalidInputError(f"{path} contains no photos of this split", code="no_photos")
    results, wrong = list[PhotoResult](), list[Miss]()
    recognizer = Recognizer(settings)
    with typer.progressbar(length=len(found), label="photos", file=sys.stderr) as bar:
        for result, image in evaluate(found, recognizer):
            results.append(result)
            if report is not None:
                wrong += misses(result, image)
            bar.update(1)
    summary = summarise(results)
    if predictions is not None:
        write_predictions(predictions, results)
    if report is not None:
        write_report(report, f"{path.name} {split or ''}", summary, wrong)
    for one in results:
        if one.refused:
            message = f"rejected {one.photo.name}: {one.refused}; counted as having no plates"
            typer.echo(message, err=True)
    typer.echo(json.dumps(asdict(summary)) if as_json else as_text(summary))
