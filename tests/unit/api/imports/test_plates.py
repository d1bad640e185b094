"""Imports of plates from a CSV file, and messages about rejected lines."""

import codecs
import csv
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.imports.plates import imported_plates
from api.imports.schemas import PlateImportAnswer, SkipCode
from api.imports.tables import FileEncoding, read_table
from common.errors import InvalidInputError
from common.plates.normalise import normalise_plate


def imported(
    data: bytes | str, encoding: FileEncoding | None = None, limit: int = 1000
) -> PlateImportAnswer:
    written = data.encode() if isinstance(data, str) else data
    return imported_plates(read_table(written, encoding), limit)


def _lines(found: PlateImportAnswer) -> list[tuple[int, str, str]]:
    return [(row.line, row.text, row.code.value) for row in found.skipped]


@pytest.mark.parametrize(
    ("text", "separator", "plates"),
    [
        ('AB12;"Smith, John"\nCD34;Ana\n', ";", ["AB12", "CD34"]),
        ("AB12;Smith, John\nCD34;Doe, Ana\n", ";", ["AB12", "CD34"]),
        ('"AB12","a;b"\n"CD34","c"\n', ",", ["AB12", "CD34"]),
        ("AB12\tx\nCD34\ty\n", "\t", ["AB12", "CD34"]),
        ("AB12|x\nCD34|y\n", "|", ["AB12", "CD34"]),
        ("sep=;\nAB12;x,y\n", ";", ["AB12"]),
        ('"sep=|"\nAB12|x;y\n', "|", ["AB12"]),
        ('AB12,"two\nlines"\nCD34,x\n', ",", ["AB12", "CD34"]),
        ("AB12,,\r\nCD34,,\r\n", ",", ["AB12", "CD34"]),
        ("AB12\rCD34\r", "\t", ["AB12", "CD34"]),
        ('AB12; "a; b"\nCD34; c\n', ";", ["AB12", "CD34"]),
    ],
)
def test_separators_are_detected(text: str, separator: str, plates: list[str]) -> None:
    found = imported(text)

    assert (list(found.plates), found.separator, found.skipped) == (plates, separator, ())


@pytest.mark.parametrize(
    "titles",
    [
        "License Plate;Owner",
        "Licence plate;Name",
        "PLATE;Note",
        "Kennzeichen;Halter",
        "Amtliches Kennzeichen;x",
        "Kfz-Kennzeichen;x",
        "Placa;Nome",
        "Matr\u00edcula;Nome",
        "N\u00ba de matr\u00edcula;x",
        "Plaque d'immatriculation;Nom",
        "Targa;Nome",
        "Nummer;Naam",
        "Number plate;x",
        "Registration;x",
        "Reg No.;x",
        "license_plate;x",
        "Rendsz\u00e1m;x",
        "\u0413\u043e\u0441\u043d\u043e\u043c\u0435\u0440;x",
    ],
)
def test_titles_are_no_plates(titles: str) -> None:
    found = imported(f"{titles}\nAB12;Ana\n")

    assert (found.plates, found.headings, found.skipped_count) == (("AB12",), 1, 0)


@pytest.mark.parametrize(
    ("text", "plates", "names"),
    [
        ("Id;Name;License Plate;Since\n7;Ana;AB12;2026-01-01\n", ["AB12"], {"AB12": "Ana"}),
        ("Owner of plate;Plate\nAna;AB12\n", ["AB12"], {}),
        ("1;AB12CDE;Ana\n2;CD34EFG;Bo\n", ["AB12CDE", "CD34EFG"], {"AB12CDE": "Ana"}),
        ("AB12;Ana\nCD34\n", ["AB12", "CD34"], {"AB12": "Ana"}),
        ("XY*;Fleet\n?Z99;x\n", ["XY*", "?Z99"], {"XY*": "Fleet"}),
        ('Plate;Name\nAB12;"two\n lines\x07"\n', ["AB12"], {"AB12": "two lines"}),
        ("123456;Ana\n", ["123456"], {"123456": "Ana"}),
    ],
)
def test_columns_are_found(text: str, plates: list[str], names: dict[str, str]) -> None:
    found = imported(text)

    assert list(found.plates) == plates
    assert {plate: found.plate_names.get(plate) for plate in names} == names


@pytest.mark.parametrize(
    ("text", "plates"),
    [
        ("Nr;Kennzeichen;Name\n1;B-AB 123;Max\n", ["B-AB 123"]),
        ("No;Plate\n1;AB12\n", ["AB12"]),
        ("Tag;Uhrzeit;Kennzeichen\n01.02.2026;10:00;B-AB 123\n", ["B-AB 123"]),
        ("No.,Vehicle,Owner\n1,AB12CDE,Ana\n2,CD34EFG,Bo\n", ["AB12CDE", "CD34EFG"]),
        ("Nr;Halter\nAB12;Ana\n", ["AB12"]),
    ],
)
def test_a_clear_title_goes_before_a_general_one(text: str, plates: list[str]) -> None:
    found = imported(text)

    assert (list(found.plates), found.headings, found.skipped) == (plates, 1, ())


@pytest.mark.parametrize(
    ("text", "plates"),
    [
        ("AB12CDE;Template Ltd\nCD34EFG;x\n", ["AB12CDE", "CD34EFG"]),
        ("AB12CDE;Owner of the plate\n", ["AB12CDE"]),
        ("AB12CDE;Wanted: registration stolen\n", ["AB12CDE"]),
        ("AB12CDE;Plate\nCD34EFG;x\n", ["AB12CDE", "CD34EFG"]),
        ("NO\nTAG\n", ["NO", "TAG"]),
        ("MATRICULE\nPLAQUE\n", ["MATRICULE", "PLAQUE"]),
        ("CAR 1\nCAR 2\n", ["CAR 1", "CAR 2"]),
        ("PLATE 1\nPLATE 2\n", ["PLATE 1", "PLATE 2"]),
        ("XY*\nAB12\nCD34\n", ["XY*", "AB12", "CD34"]),
        ("SUPER\nAB12\n", ["SUPER", "AB12"]),
    ],
)
def test_a_file_without_headings_loses_no_plate(text: str, plates: list[str]) -> None:
    found = imported(text)

    assert (list(found.plates), found.headings) == (plates, 0)


@pytest.mark.parametrize(
    "title",
    (
        *("Vehicle", "Vehicle Reg", "Vehicle No", "Licence Number", "License", "Patente"),
        *("Dominio", "Kjennemerke", "Skylt", "Numbrim\u00e4rk", "Numura z\u012bme", "Nr rej."),
        *("Immat.", "Plat nomor", "Bi\u1ec3n s\u1ed1", "KFZ-Kennz.", "LP", "Car", "Tag Number"),
        *("Fleet no", "id", "Plate1", "Column1", "Plate:", "LicensePlate", "MATRICULE"),
        *("\u30ca\u30f3\u30d0\u30fc", "\u8f66\u724c\u53f7\u7801"),
    ),
)
def test_one_plate_below_a_usual_title_suffices(title: str) -> None:
    found = imported(f"{title}\nAB12CDE\n")

    assert (found.plates, found.headings) == (("AB12CDE",), 1)


@pytest.mark.parametrize(
    ("above", "headings"),
    [("Foo;Bar", 1), ("Fleet list 2026\nPlate;Owner", 2), ("Stolen cars\nVehicle;Who", 2)],
)
def test_rows_above_the_plates_are_headings(above: str, headings: int) -> None:
    found = imported(f"{above}\nAB12CDE;Ana\nCD34EFG;Bo\n")

    assert (found.plates, found.headings) == (("AB12CDE", "CD34EFG"), headings)


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        ("B-ÄB 12;Müller\n".encode(), FileEncoding.UTF_8),
        ("B-ÄB 12;Müller\n".encode("utf-8-sig"), FileEncoding.UTF_8),
        (codecs.BOM_UTF16_LE + "B-ÄB 12;Müller\n".encode("utf-16-le"), FileEncoding.UTF_16),
        (codecs.BOM_UTF16_BE + "B-ÄB 12;Müller\n".encode("utf-16-be"), FileEncoding.UTF_16),
        ("B-ÄB 12;Müller\n".encode("cp1252"), FileEncoding.WINDOWS_1252),
        ("B-ÄB 12;Müller\n".encode("utf-16-le"), FileEncoding.UTF_16),
        ("B-ÄB 12;Müller\n".encode("utf-16-be"), FileEncoding.UTF_16),
    ],
    ids=["utf-8", "bom", "utf-16-le", "utf-16-be", "cp1252", "utf-16-le-bare", "utf-16-be-bare"],
)
def test_encodings_are_detected_and_named(data: bytes, encoding: FileEncoding) -> None:
    found = imported(data)

    assert (found.plates, found.plate_names) == (("B-ÄB 12",), {"B-ÄB 12": "Müller"})
    assert found.encoding is encoding


def test_an_encoding_can_be_named() -> None:
    given_cyrillic = "\u0410\u041212;\u0416\u0443\u043a\n".encode("cp1251")

    assert imported(given_cyrillic, FileEncoding.WINDOWS_1251).plate_names == {
        "\u0410\u041212": "\u0416\u0443\u043a"
    }
    with pytest.raises(InvalidInputError, match="is not encoded in utf-8"):
        imported(given_cyrillic, FileEncoding.UTF_8)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"PK\x03\x04\x14\x00", "is a spreadsheet"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "is a spreadsheet"),
        (b"AB12\x00", "not a text file"),
        (b"M\x81 12", "encoding cannot be detected"),
        ("MÜ 12\nMÜ 13\n".encode() + b"B-\xc3", "UTF-8 with an invalid byte at position 17"),
        (codecs.BOM_UTF16_LE + b"A", "is not encoded in utf-16"),
        (b"AB12\n" * 5_001, "more than 5000 lines"),
    ],
    ids=["xlsx", "xls", "nul", "control", "cut", "odd", "long"],
)
def test_what_is_no_csv_is_refused(data: bytes, said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        imported(data)


def test_every_row_is_accounted_for() -> None:
    text = "sep=,\nPlate,Name\nAB12,Ana\n\n# old\nab-12,Bo\nAB/123,x\n,Eve\nA\u0416,x\nCD34,x\n,,\n"
    found = imported(text, limit=1)

    assert (found.plates, found.plate_names) == (("AB12",), {"AB12": "Ana"})
    assert (found.rows, found.duplicates, found.blank, found.headings) == (11, 1, 3, 2)
    assert _lines(found) == [
        (7, "AB/123", "invalid_character"),
        (8, "Eve", "empty_plate"),
        (9, "A\u0416", "invalid_character"),
        (10, "CD34", "limit_reached"),
    ]
    assert [row.position for row in found.skipped] == [3, None, 2, None]
    assert found.skipped[0].reason.startswith('must not contain "/" (U+002F) at position 3;')


def test_a_quotation_mark_that_is_not_closed_costs_one_line() -> None:
    found = imported('AB12\n"CD34\nEF56\n"GH78",x\n"a"b\nIJ90\n')

    assert found.plates == ("AB12", "EF56", "GH78", "IJ90")
    assert _lines(found) == [(2, "CD34", "unreadable_row"), (5, 'a"b', "unreadable_row")]


def test_faults_do_not_make_lines_be_read_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    read: Counter[str] = Counter()
    original = csv.reader

    def counted(line: str) -> str:
        read["lines"] += 1
        return line

    def counting(lines: Iterable[str], **options: Any) -> Iterator[list[str]]:
        return original(map(counted, lines), **options)

    monkeypatch.setattr("api.imports.tables.csv.reader", counting)
    found = imported("sep=,\n" + 'a","\n' * 2_000)

    assert found.rows == 2_001
    assert read["lines"] <= 20 * 2_000


def test_a_cell_may_have_20_lines() -> None:
    def cell(lines: int) -> str:
        return '"' + "x\n" * (lines - 1) + '"'

    assert imported(f"AB12,{cell(20)}\nCD34,y\n").skipped == ()
    assert imported(f"AB12,{cell(21)}\nCD34,y\n").skipped[0].line == 1


def test_a_very_long_cell_is_named_as_the_fault() -> None:
    found = imported('AB12,"' + "x" * 140_000 + '"\nCD34,y\n')

    assert found.plates == ("CD34",)
    assert [row.reason for row in found.skipped] == ["has a cell with more than 131072 characters"]


@pytest.mark.parametrize("line", ["sep=A", 'sep="', "sep=1"])
def test_a_letter_digit_or_quotation_mark_is_no_separator(line: str) -> None:
    found = imported(f"{line}\nAB12\nCD34\n")

    assert (found.plates, found.separator) == (("AB12", "CD34"), "\t")


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("\u0410123\u0412\u042177", "cp1251"),
        ("\u0415123\u0415\u041577", "cp1251"),
        ("\u0396\u0396\u03961234", "cp1253"),
        ("M\u00d6 123", "cp850"),
    ],
)
def test_letters_that_depend_on_a_guessed_encoding_are_skipped(text: str, encoding: str) -> None:
    found = imported(f"{text}\nAB12\n".encode(encoding))

    assert (found.plates, found.encoding) == (("AB12",), FileEncoding.WINDOWS_1252)
    assert [row.code for row in found.skipped] == [SkipCode.UNCLEAR_ENCODING]
    assert "guessed as windows-1252" in found.skipped[0].reason


@pytest.mark.parametrize("cell", ['="0123AB"', "'0123AB", "[0123AB]", "\u201e0123AB\u201c"])
def test_quotes_and_brackets_around_a_cell_are_no_part_of_the_plate(cell: str) -> None:
    assert imported(f"{cell}\n").plates == ("0123AB",)


_characters = st.sampled_from('AB12 ;,\t|"\n\r#=*?/\u00c4\u0416\ufeff\x00\x85')


@given(st.text(_characters, max_size=60), st.integers(0, 3))
def test_nothing_vanishes(text: str, limit: int) -> None:
    try:
        found = imported(text, limit=limit)
    except InvalidInputError:
        assert "\0" in text
        return
    counts: Any = (found.duplicates, found.blank, found.headings, found.skipped_count)
    assert found.rows == len(found.plates) + sum(counts)
    assert len(found.plates) <= limit
    normal = [normalise_plate(plate) for plate in found.plates]
    assert len(set(normal)) == len(normal)
    assert set("".join(normal)) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789*?")
