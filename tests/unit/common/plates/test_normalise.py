"""Spellings of one plate have the same normalised text, which is the text that readers return."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.errors import InvalidInputError
from common.plates.normalise import (
    LETTERS,
    mask_plate,
    normalise_plate,
    typed_plate,
    whole_plate,
)
from tests.characters import varied_characters

ROOT = Path(__file__).parents[4]
WRITTEN = set("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ")

FOLDED = [
    ("LS15 EBC", "LS15EBC"),
    ("34a-368.37", "34A36837"),
    ("b·mw 12", "BMW12"),
    ("B ÄB 123", "BAB123"),
    ("ÜGL2559", "UGL2559"),
    ("U\u0308GL 2559", "UGL2559"),
    ("äöüßẞÅØÆŒÞÐŁĐıİ", "AOUSSSSAOAEOETHDLDII"),
    ("åøæœþðłđñç", "AOAEOETHDLDNC"),
    ("V\u0410677VR", "VA677VR"),
    (
        "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425",
        "ABEKMHOPCTYX",
    ),
    (
        "\u0430\u0432\u0435\u043a\u043c\u043d\u043e\u0440\u0441\u0442\u0443\u0445",
        "ABEKMHOPCTYX",
    ),
    ("\u0406\u0407\u0456\u0457\u0408\u0458\u0405\u0455\u0401", "IIIIJJSSE"),
    (
        "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7",
        "ABEZHIKMNOPTYX",
    ),
    (
        "\u03b1\u03b2\u03b5\u03b6\u03b7\u03b9\u03ba\u03bc\u03bd\u03bf\u03c1\u03c4\u03c5\u03c7",
        "ABEZHIKMNOPTYX",
    ),
    ("ＡＢ１", "AB1"),
    ("𝐀𝑏𝟏Ⓒ②³", "AB1C23"),
    ("\u0661\u0662\u06f3\u096a", "1234"),
    ("A\x00B\t1\x7f", "AB1"),
    ("\ufeffAB\u00a0\u200b1\u200d2\u00ad\u200e3\u2060", "AB123"),
    ("AB\u2013\u2014\u2011\u2212\u2022\u30fb12", "AB12"),
    ("", ""),
]
REFUSED = [
    ("AB\u042612", '"\u0426" (U+0426) at position 3'),
    ("\u042f1", '"\u042f" (U+042F) at position 1'),
    ("A \u4eac12", '"\u4eac" (U+4EAC) at position 3'),
    ("AB\U0001f697", '"\U0001f697" (U+1F697) at position 3'),
    ("AB/123", '"/" (U+002F) at position 3'),
    ("A_1", '"_" (U+005F) at position 2'),
    ("A\ufffd1", '"\ufffd" (U+FFFD) at position 2'),
    ("A\ue0001", "U+E000 at position 2"),
    ("A1´", '"´" (U+00B4) at position 3'),
    ("50%", '"%" (U+0025) at position 3'),
]


@pytest.mark.parametrize(("text", "plate"), FOLDED)
def test_a_plate_is_folded_to_what_readers_write(text: str, plate: str) -> None:
    assert typed_plate(text) == normalise_plate(text) == plate


@pytest.mark.parametrize(("text", "named"), REFUSED)
def test_what_cannot_be_folded_is_refused_with_its_position(text: str, named: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        typed_plate(text)

    assert str(caught.value).startswith(f"must not contain {named};")
    assert caught.value.code == "invalid_character"


def test_wildcards_are_for_patterns_only() -> None:
    assert typed_plate("äb*\uff1f", wildcards=True) == "AB*?"
    with pytest.raises(InvalidInputError, match="at position 3"):
        typed_plate("äb*")


@pytest.mark.parametrize(
    ("text", "is_whole"), [("ß" * 8, True), ("ß" * 8 + "1", False), ("- .", False)]
)
def test_the_length_is_that_after_folding(text: str, is_whole: bool) -> None:
    if is_whole:
        assert len(whole_plate(text)) == 16
        return
    with pytest.raises(InvalidInputError, match="must have 1 to 16 letters and digits"):
        whole_plate(text)


def test_a_character_folds_or_is_refused_with_its_position() -> None:
    for character in varied_characters():
        try:
            folded = typed_plate(f"AB{character}", wildcards=True)
        except InvalidInputError as error:
            assert f"U+{ord(character):04X}" in str(error), ascii(character)
            assert "at position 3" in str(error), ascii(character)
            assert normalise_plate(character) == character
        else:
            assert folded == "AB" + normalise_plate(character)
            assert set(folded) <= WRITTEN | set("*?"), ascii(character)


def test_case_never_matters() -> None:
    for character in varied_characters():
        folded = normalise_plate(character)
        if folded != character and len(character.lower()) == 1:
            assert normalise_plate(character.lower()) in (folded, folded.lower()), ascii(character)


@given(st.text())
def test_normalise_plate_is_idempotent(text: str) -> None:
    once = normalise_plate(text)

    assert normalise_plate(once) == once


@given(st.text(), st.text())
def test_a_character_folds_the_same_whatever_is_next_to_it(one: str, other: str) -> None:
    assert normalise_plate(one + other) == normalise_plate(one) + normalise_plate(other)


@given(st.text())
def test_a_typed_plate_has_only_what_readers_write(text: str) -> None:
    try:
        plate = typed_plate(text)
    except InvalidInputError:
        return
    assert set(plate) <= WRITTEN
    assert typed_plate(plate) == plate == normalise_plate(text)


def test_readers_write_nothing_else() -> None:
    for card in ("plate-reader", "plate-second-reader"):
        output = json.loads((ROOT / f"recognition/models/{card}.json").read_text())["output"]
        assert set(output["alphabet"].replace(output.get("pad_char", ""), "")) == WRITTEN


def test_the_documented_table_is_the_one_in_use() -> None:
    page = (ROOT / "docs/api/plates.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\S+(?: \S+)*) \| ([A-Z0-9]+) \|$", page, re.MULTILINE)
    table = {character: text for written, text in rows for character in written.split()}

    assert set(LETTERS) <= set(table)
    assert table == {character: normalise_plate(character) for character in table}


@pytest.mark.parametrize(
    ("text", "masked"), [("LS15EBC", "L*****C"), ("A1", "**"), ("A", "*"), ("", "")]
)
def test_mask_plate_shows_at_most_the_ends(text: str, masked: str) -> None:
    assert mask_plate(text) == masked
