"""Updates model cards: ``python -m tools.training.cards FILE.onnx ...`` updates the checksums."""

import argparse
import json
import textwrap
from pathlib import Path
from typing import Any

from recognition.models.model_card import file_sha256

Card = dict[str, Any]
"""The JSON object in a model card file."""

_LINE, _SHORT = 116, 75
"""Maximum length of a line without indentation and key, and of an item that shares a line."""


def read_card(model: Path) -> Card:
    """Return the model card next to an ONNX file, without verifying the checksum."""
    card: Card = json.loads(model.with_suffix(".json").read_text())
    return card


def write_card(model: Path, card: Card) -> None:
    """Write the model card next to an ONNX file, with the file's current SHA-256."""
    fresh = card | {"sha256": file_sha256(model)}
    model.with_suffix(".json").write_text(as_json(fresh) + "\n")


def as_json(value: Any, indent: str = "") -> str:
    """Return compact JSON: short values share a line, and long values have a line per item."""
    line = json.dumps(value, ensure_ascii=False)
    if len(line) <= _LINE or not isinstance(value, dict | list | tuple):
        return line
    inner = f"\n{indent} "
    if isinstance(value, dict):
        items = [f"{json.dumps(key)}: {as_json(value[key], indent + ' ')}" for key in value]
    else:
        items = [as_json(item, indent + " ") for item in value]
    body = f",{inner}".join(items)
    if max(map(len, items)) <= _SHORT:
        # Only wrap between items. Encoded JSON contains no zero characters.
        words = ", ".join(item.replace(" ", "\0") for item in items)
        lines = textwrap.wrap(words, _LINE, break_long_words=False, break_on_hyphens=False)
        body = inner.join(lines).replace("\0", " ")
    return f"{line[0]}{inner}{body}\n{indent}{line[-1]}"


def change_cards(model: Path, changes: Card) -> None:
    """Update fields in the card of an ONNX file and in the card of the file's GPU variant."""
    twin = model.with_name(f"{model.stem}-float{model.suffix}")
    for one in filter(Path.exists, (model, twin)):
        write_card(one, read_card(one) | changes)


def main() -> None:
    """Update the checksums in the cards of the given files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", type=Path, nargs="+", help="ONNX files with their model cards")
    for model in parser.parse_args().models:
        write_card(model, read_card(model))


if __name__ == "__main__":
    main()
