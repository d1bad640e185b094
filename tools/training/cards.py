"""Updates model cards: ``python -m tools.training.cards FILE.onnx ...`` updates the checksums."""

import argparse
import hashlib
import json
from pathlib import Path
from typing import Any

Card = dict[str, Any]
"""The JSON object in a model card file."""


def read_card(model: Path) -> Card:
    """Return the model card next to an ONNX file, without verifying the checksum."""
    card: Card = json.loads(model.with_suffix(".json").read_text())
    return card


def write_card(model: Path, card: Card) -> None:
    """Write the model card next to an ONNX file, with the file's current SHA-256."""
    card = card | {"sha256": hashlib.sha256(model.read_bytes()).hexdigest()}
    text = json.dumps(card, indent=1, ensure_ascii=False) + "\n"
    model.with_suffix(".json").write_text(text)


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
