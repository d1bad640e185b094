"""The clients have every call that a key allows, with its parameters."""

import re
from pathlib import Path

import pytest

from tests.described import api_description

CLIENTS = Path(__file__).resolve().parents[3] / "clients"
SOURCES = {
    "python": ("platestream_client", ("recognitions.py", "resources.py", "stream.py")),
    "typescript": ("src", ("recognitions.js", "resources.js", "stream.js")),
}


def _paths_for_keys() -> set[str]:
    return {
        re.sub(r"\{\w+\}", "{}", path)
        for path, operations in api_description()["paths"].items()
        if any("apiKey" in way for one in operations.values() for way in one["security"])
    }


def _names_in_queries() -> set[str]:
    parameters = [
        parameter
        for operations in api_description()["paths"].values()
        for operation in operations.values()
        for parameter in operation.get("parameters", ())
    ]
    return {parameter["name"] for parameter in parameters if parameter["in"] == "query"}


def _source(language: str) -> str:
    folder, names = SOURCES[language]
    return "".join(
        (CLIENTS / language / folder / name).read_text(encoding="utf-8") for name in names
    )


@pytest.mark.parametrize("language", SOURCES)
def test_no_path_is_missing_and_none_is_invented(language: str) -> None:
    assert set(re.findall(r'"(/api/[^"]*)"', _source(language))) == _paths_for_keys()


@pytest.mark.parametrize("language", SOURCES)
def test_every_parameter_can_be_given(language: str) -> None:
    words = {word.removesuffix("_") for word in re.findall(r"\w+", _source(language))}

    assert _names_in_queries() - words == set()
