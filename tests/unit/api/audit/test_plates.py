"""Plates as the audit log stores them."""

from uuid import UUID

from api.audit.plates import PlateHashes

FIRST, SECOND = UUID(int=1), UUID(int=2)


def test_spellings_of_a_plate_have_one_hash_and_accounts_have_their_own() -> None:
    hashes = PlateHashes("one")

    assert hashes.hash_plate(FIRST, "ab-12 cd") == hashes.hash_plate(FIRST, "AB12CD")
    assert hashes.hash_plate(FIRST, "AB12CD") != hashes.hash_plate(SECOND, "AB12CD")
    assert hashes.hash_plate(FIRST, "AB12CD") != PlateHashes("two").hash_plate(FIRST, "AB12CD")


def test_a_plate_is_found_under_a_former_key() -> None:
    rotated = PlateHashes("two, one")

    assert PlateHashes("one").hash_plate(FIRST, "AB12CD") in rotated.under_all_keys(FIRST, "AB12CD")
    assert rotated.hash_plate(FIRST, "AB12CD") == PlateHashes("two").hash_plate(FIRST, "AB12CD")


def test_the_filter_of_a_search_is_masked_and_others_are_not() -> None:
    told = PlateHashes("one").protected(FIRST, {"plate": "ab 12", "cameraId": "x"})

    assert told == {
        "plate": "A**2",
        "cameraId": "x",
        "plateHashes": (PlateHashes("one").hash_plate(FIRST, "AB12"),),
    }
    assert PlateHashes("one").protected(FIRST, {"from": "y"}) == {"from": "y"}
