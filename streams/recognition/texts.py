"""How alike two plate texts are."""

from contracts.edits import edit_distance


def is_part(one: str, other: str) -> bool:
    """Return whether one text is a piece of the other, as when the frame's edge cuts a plate."""
    return one in other or other in one


def likeness(one: str, other: str) -> float:
    """Return 1 for equal texts, 0 for texts with nothing in common."""
    longest = max(len(one), len(other))
    return 1 - edit_distance(one, other) / longest if longest else 1.0
