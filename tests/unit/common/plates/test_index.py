"""The index of plate lists compared with checking each entry."""

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from common.plates.index import PlateIndex
from common.plates.matching import PlateMatcher, listed_plate
from common.plates.ngram_index import edited_grams, pattern_grams
from common.plates.partition_index import plate_pairs, text_pairs

# Plates that include the characters which mark the ends of plates in the index.
_characters = "AB08^$"
_matchers = st.builds(listed_plate, st.text("AB08*?", min_size=1, max_size=6), st.integers(0, 2))
_lists = st.lists(st.lists(_matchers, max_size=3), max_size=10)


@given(_lists, st.lists(st.text(_characters, max_size=6), min_size=1, max_size=10))
def test_finds_what_each_entry_matches(lists: list[list[PlateMatcher]], plates: list[str]) -> None:
    index = PlateIndex[int]()
    for number, matchers in enumerate(lists):
        index.add(number, matchers)
    for number, matchers in enumerate(lists[::2]):
        index.remove(number * 2, matchers)
    left = {number: each for number, each in enumerate(lists) if number % 2}
    for plate in plates:
        expected = {
            number
            for number, matchers in left.items()
            if any(matcher.matches(plate) for matcher in matchers)
        }
        assert index.find(plate) == expected


@given(_lists)
def test_an_emptied_index_holds_nothing(lists: list[list[PlateMatcher]]) -> None:
    index = PlateIndex[int]()
    for number, matchers in enumerate(lists):
        index.add(number, matchers)
    for number, matchers in enumerate(lists):
        index.remove(number, matchers)
    held = {name: value for name, value in vars(index).items() if not name.startswith("__")}
    assert not any(held.values()), held


_edits = st.tuples(
    st.sampled_from(["add", "drop", "change"]), st.integers(0, 16), st.sampled_from("AB0")
)


@settings(max_examples=500)
@given(st.text("AB0", max_size=16), st.lists(_edits, max_size=2), st.sampled_from([1, 2]))
def test_a_plate_within_the_edits_shares_a_pair(
    text: str, edits: list[tuple[str, int, str]], tolerance: int
) -> None:
    plate = text
    for kind, place, character in edits[:tolerance]:
        at = min(place, len(plate))
        rest = plate[at:] if kind == "add" else plate[at + 1 :]
        plate = plate[:at] + ("" if kind == "drop" else character) + rest
    assert set(plate_pairs(plate, tolerance, [len(text)])) & set(text_pairs(text, tolerance))


def test_pairs_are_few_however_long_the_plate() -> None:
    assert text_pairs("ABCDEF", 1) == ["\6\0ABCD", "\6\1ABEF", "\6\2CDEF"]
    assert len(text_pairs("ABCDEFGHIJKLMNOP", 2)) == 6
    assert set(plate_pairs("ABCDEF", 1, [6])) == set(text_pairs("ABCDEF", 1))
    assert not set(plate_pairs("XBCXEF", 1, [6])) & set(text_pairs("ABCDEF", 1))
    assert list(plate_pairs("ABCDEF", 2, [3, 9])) == []


def test_wildcards_have_their_keys() -> None:
    assert set(pattern_grams("AB*")) == {"AB", "^AB"}
    assert set(pattern_grams("?B*123456")) == {"B", "123", "$23456"}
    assert pattern_grams("*ABCD*") == ["ABC"]
    assert pattern_grams("*?*") == []
    assert set(edited_grams("ABCD*", 1)) == {"AB", "CD"}
    assert set(edited_grams("AB*12*X", 2)) == {"AB", "12", "X"}
    assert edited_grams("A*B", 2) == ()
    assert all(all(edited_grams("".join(text), 2)) for text in product("AB*?", repeat=5))
