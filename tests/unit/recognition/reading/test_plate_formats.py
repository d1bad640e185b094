"""Characters that a country's plate formats decide, and characters that stay unchanged."""

import numpy as np
import pytest

from recognition.reading.plate_formats import PlateFormats, unnamed_country
from recognition.types import FloatArray

ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_"
PAD = ALPHABET.index("_")
COUNTRIES = (
    "Romania",
    "Brazil",
    "Thailand",
    "Germany",
    "United States",
    "United Kingdom",
    "Unknown",
)
FORMATS = PlateFormats(ALPHABET, PAD, COUNTRIES)


def slots(*options: str) -> FloatArray:
    """Return ten rows of probabilities. "B" is 0.99 for B; "8 0.6 B" is 0.6 for 8, 0.4 for B."""
    said = np.full((10, len(ALPHABET)), 1e-5)
    for row, option in zip(said, [*options, *("_" * (10 - len(options)))], strict=True):
        best, share, other = (*option.split(), "0.99", "_")[:3]
        row[ALPHABET.index(other)] = 1 - float(share)
        row[ALPHABET.index(best)] = float(share)
    return np.asarray(said / said.sum(axis=-1, keepdims=True))


def sure_of(country: str, share: float = 0.95) -> FloatArray:
    rest = (1 - share) / (len(COUNTRIES) - 1)
    return np.array([share if name == country else rest for name in COUNTRIES])


def text(said: FloatArray) -> str:
    return "".join(ALPHABET[i] for i in said.argmax(axis=-1)).replace("_", "")


@pytest.mark.parametrize(
    ("country", "read", "settled"),
    [
        ("Romania", ("B", "2", "0", "9", "8 0.6 B", "Y", "E"), "B209BYE"),
        ("Romania", ("B", "2", "1", "6 0.6 G", "S", "B"), "B21GSB"),
        # Brazil has two series, so the position of the only uncertain character decides.
        ("Brazil", ("A", "B", "C", "1", "0 0.6 O", "2", "3"), "ABC1023"),
        ("Brazil", ("A", "B", "C", "1", "D", "2", "O 0.6 0"), "ABC1D20"),
        ("Germany", ("M", "X", "I 0.6 1", "2", "3"), "MXI23"),
        ("United States", ("6", "B", "0 0.8 O", "E", "7", "3", "1"), "6BOE731"),
        ("United States", ("E", "A", "B", "0", "O 0.8 0", "0", "1"), "EAB0001"),
        # The typefaces of American plates draw O and 0 alike, so the format decides alone.
        ("United States", ("8", "C", "H", "L", "O 0.99 0", "9", "6"), "8CHL096"),
        ("United States", ("N", "B", "Y", "O 0.99 0", "N", "D"), "NBYOND"),
        # Both orders are British. Numbers in the older order do not start with zero.
        ("United Kingdom", ("V", "0 0.6 O", "5", "8", "B", "V", "E"), "VO58BVE"),
        ("United Kingdom", ("V", "4 0.6 O", "5", "8", "B", "V", "E"), "V458BVE"),
        # The reader does not know India, and no Romanian number has this length.
        ("Unknown", ("P", "B", "O 0.6 0", "8", "E", "G", "1", "8", "1", "9"), "PB08EG1819"),
        ("Romania", ("P", "B", "O 0.6 0", "8", "E", "G", "1", "8", "1", "9"), "PB08EG1819"),
    ],
)
def test_the_kind_of_a_place_settles_look_alikes(
    country: str, read: tuple[str, ...], settled: str
) -> None:
    assert text(FORMATS.apply(slots(*read), sure_of(country))) == settled


@pytest.mark.parametrize(
    ("read", "region"),
    [
        pytest.param(("B", "5", "7", "2 0.97 Z", "F 0.7 P", "A"), "Romania", id="sure"),
        pytest.param(("8 0.6 B", "2", "1", "6 0.6 G"), "Thailand", id="no-formats"),
        pytest.param(("8 0.6 B", "2", "1"), "Romania", id="no-such-length"),
        # Two confident letters in place of digits: a custom plate, or a plate from elsewhere.
        pytest.param(("B", "A", "D", "B 0.6 8", "O", "Y"), "Romania", id="another-order"),
        pytest.param(
            ("8", "A", "L", "A", "M", "B", "O 0.7 0"), "United States", id="made-to-order"
        ),
        # The plate has India's order except for one position.
        pytest.param(
            ("H", "H", "B 0.8 8", "C", "1", "2", "3", "4"), "Germany", id="own-order-first"
        ),
        pytest.param(
            ("H", "H", "B 0.8 8", "C", "1", "2", "3", "4"), "Thailand", id="without-orders"
        ),
    ],
)
def test_what_is_sure_or_of_no_format_stays(read: tuple[str, ...], region: str) -> None:
    said = slots(*read)
    assert text(FORMATS.apply(said, sure_of(region))) == text(said)


def test_a_country_that_may_be_it_comes_before_those_that_no_reader_names() -> None:
    said = slots("H", "H", "B 0.8 8", "C", "1", "2", "3", "4")
    assert FORMATS.apply(said, sure_of("Germany", 0.65)) is said


def test_orders_of_countries_that_readers_do_not_name_settle_where_it_may_be_none() -> None:
    said = slots("0 0.6 O", "1", "3", "6", "A", "B", "1", "3", "6")
    assert text(FORMATS.apply(said, sure_of("Romania", 0.5))) == "O136AB136"


def test_a_reader_without_a_zero_has_formats_too() -> None:
    few = PlateFormats("123ABC_", 6, ("Romania", "Germany", "Unknown"))
    said = np.full((3, 7), 0.01)
    said[range(3), [3, 0, 0]] = 0.94
    settled = few.apply(said, np.array([0.1, 0.8, 0.1]))
    assert settled.sum(axis=-1) == pytest.approx(np.ones(3))
    assert settled.argmax(axis=-1).tolist() == [3, 0, 0]


def test_a_guessed_country_settles_nothing() -> None:
    said = slots("B", "2", "0", "9", "8 0.6 B", "Y", "E")
    assert FORMATS.apply(said, sure_of("Romania", 0.65)) is said


def test_probabilities_stay_probabilities() -> None:
    said = slots("B", "2", "0", "9", "8 0.6 B", "Y", "E")
    settled = FORMATS.apply(said, sure_of("Romania"))
    assert settled.sum(axis=-1) == pytest.approx(np.ones(10))
    assert settled.min() >= 0
    assert settled[4].argmax() == ALPHABET.index("B")
    # The empty positions and their probabilities in other positions are unchanged.
    assert settled[:, PAD] == pytest.approx(said[:, PAD])


@pytest.mark.parametrize("share", ["0.6", "0.75"])
def test_what_a_format_changes_gets_no_surer(share: str) -> None:
    said = slots("B", "2", "0", "9", f"8 {share} B", "Y", "E")
    settled = FORMATS.apply(said, sure_of("Romania"))
    assert settled[4].argmax() == ALPHABET.index("B")
    assert settled[4].max() == pytest.approx(said[4].max())


def test_what_a_format_confirms_may_get_surer() -> None:
    said = slots("B", "2", "0", "9", "B 0.6 8", "Y", "E")
    settled = FORMATS.apply(said, sure_of("Romania"))
    assert settled[4, ALPHABET.index("B")] > 0.9


def test_nothing_read_is_nothing_settled() -> None:
    said = slots()
    assert FORMATS.apply(said, sure_of("Romania")) is said


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("DL2CAY3126", "India"),
        ("KA51MF4204", "India"),
        ("TN87A8884", "India"),
        ("CA123456", None),
        ("AB12345", None),
        ("AB123CD", None),
        ("O136AB136", "Russia"),
        ("K123CM77", "Russia"),
        ("K123CZ77", None),
        ("", None),
    ],
)
def test_orders_of_countries_that_readers_do_not_name(text: str, expected: str | None) -> None:
    assert unnamed_country(text) == expected
