"""``platestream backup`` and ``platestream restore``: all of an installation as files, and back."""

from pathlib import Path
from typing import Annotated

import typer

from api.cli.commands import JsonOption, answer, with_progress
from api.cli.shared import (
    in_family,
    leave_standard_output_to_answers,
    load_command_settings,
    shown_time,
)

_NEXT = (
    "Now make Kafka's topics again, empty (delete them, then python -m common.kafka), start the"
    " processes, and erase again what was erased after the backup."
)


def backup(
    folder: Annotated[Path, typer.Argument(help="A folder that is not there yet, or empty.")],
    with_images: Annotated[
        bool, typer.Option("--with-images", help="Copy the images, too, not only list their keys.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Write what all servers have into a folder; the service may run meanwhile."""
    from api.backup.service import BackupSettings, back_up

    leave_standard_output_to_answers()
    settings = load_command_settings(BackupSettings)
    made = in_family(lambda: back_up(settings, folder, with_progress, copies=with_images))
    fields = {
        "folder": str(folder),
        "madeAt": shown_time(made.made_at),
        "version": made.version,
        "files": len(made.files),
        "bytes": sum(file.size for file in made.files),
        "hasImages": made.has_images,
    }
    text = f"{fields['files']} files, {fields['bytes']} bytes, in {folder}"
    answer(fields, as_json, text + ("" if with_images else "; of images only the list"))


def restore(
    folder: Annotated[Path, typer.Argument(help="A folder that platestream backup wrote.")],
    replace: Annotated[
        bool, typer.Option("--replace", help="Remove all that is there, for good.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="With --replace: do not ask.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Make this installation what it was at a backup. Its processes must not run."""
    from api.backup.service import BackupSettings
    from api.backup.service import restore as restore_into

    leave_standard_output_to_answers()
    settings = load_command_settings(BackupSettings)
    if replace and not yes:
        typer.confirm("Remove all that this installation has?", abort=True, err=True)
    done = in_family(lambda: restore_into(settings, folder, with_progress, replaces=replace))
    fields = {
        "madeAt": shown_time(done.manifest.made_at),
        "version": done.manifest.version,
        "imagesPutBack": done.put_back,
        "imagesMissing": done.missing,
        "erasedAgain": done.erased,
    }
    lines = [f"restored what was there at {fields['madeAt']}, by Platestream {fields['version']}"]
    if done.put_back or done.missing:
        lines.append(f"images: {done.put_back} put back, {done.missing} of the backup are nowhere")
    if done.erased:
        lines.append(f"erased again: {done.erased} plates or accounts")
    answer(fields, as_json, "\n".join([*lines, _NEXT]))
