"""Keeps the model cards true to their files.

``python -m tools.training.cards FILE.onnx ...`` writes each file's SHA-256 into its card.
"""

import argparse
import hashlib
import json
from pathlib import Path
from typing import Any

Card = dict[str, Any]
"""A model card as it is in its file."""


def read_card(model: Path) -> Card:
    """Return the card beside an ONNX file, whatever file it was written for."""
    card: Card = json.loads(model.with_suffix(".json").read_text())
    return card


def write_card(model: Path, card: Card) -> None:
    """Write the card beside an ONNX file, with the SHA-256 of the file as it is now."""
    card = card | {"sha256": hashlib.sha256(model.read_bytes()).hexdigest()}
    text = json.dumps(card, indent=1, ensure_ascii=False) + "\n"
    model.with_suffix(".json").write_text(text)


def change_cards(model: Path, changes: Card) -> None:
    """Write fields into the card of an ONNX file, and into that of its twin for GPUs."""
    twin = model.with_name(f"{model.stem}-float{model.suffix}")
    for one in filter(Path.exists, (model, twin)):
        write_card(one, read_card(one) | changes)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", type=Path, nargs="+", help="ONNX files with cards beside them")
    for model in parser.parse_args().models:
        write_card(model, read_card(model))


if __name__ == "__main__":
    main()
