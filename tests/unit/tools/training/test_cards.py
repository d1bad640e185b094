import json
from pathlib import Path

from recognition.settings import MODELS
from tools.training.cards import as_json, change_cards

CARD = {"name": "mine", "output": {"name": "output0"}, "plate_chance": None}


def model(folder: Path, name: str) -> Path:
    file = folder / f"{name}.onnx"
    file.write_bytes(name.encode())
    file.with_suffix(".json").write_text(json.dumps(CARD | {"name": name}))
    return file


def card_of(file: Path) -> dict[str, object]:
    card: dict[str, object] = json.loads(file.with_suffix(".json").read_text())
    return card


def test_what_changes_is_written_into_the_cards_of_a_model_and_of_its_twin(tmp_path: Path) -> None:
    mine, twin = model(tmp_path, "mine"), model(tmp_path, "mine-float")
    other = model(tmp_path, "other")
    change_cards(mine, {"plate_chance": {"score": 1}})
    for file, name in ((mine, "mine"), (twin, "mine-float")):
        card = card_of(file)
        assert card["output"] == CARD["output"]
        assert (card["name"], card["plate_chance"]) == (name, {"score": 1})
    assert card_of(mine)["sha256"] != card_of(twin)["sha256"]
    assert card_of(other) == CARD | {"name": "other"}


def test_a_model_without_a_twin(tmp_path: Path) -> None:
    mine = model(tmp_path, "mine")
    change_cards(mine, {"plate_chance": {"score": 2}})
    assert card_of(mine)["plate_chance"] == {"score": 2}
    assert sorted(file.name for file in tmp_path.iterdir()) == ["mine.json", "mine.onnx"]


def test_the_cards_have_the_form_in_which_they_are_written() -> None:
    for path in MODELS.glob("plate-[dr]*.json"):
        text = path.read_text()
        assert as_json(json.loads(text)) + "\n" == text
