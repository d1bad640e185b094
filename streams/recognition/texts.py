"""How alike two plate texts are."""


def edit_distance(one: str, other: str) -> int:
    """Return how many characters must be put in, taken out or replaced (Levenshtein)."""
    previous = list(range(len(other) + 1))
    for row, left in enumerate(one, start=1):
        current = [row]
        for column, right in enumerate(other, start=1):
            replaced = previous[column - 1] + (left != right)
            current.append(min(previous[column] + 1, current[-1] + 1, replaced))
        previous = current
    return previous[-1]


def is_part(one: str, other: str) -> bool:
    """Return whether one text is a piece of the other, as when the frame's edge cuts a plate."""
    return one in other or other in one


def likeness(one: str, other: str) -> float:
    """Return 1 for equal texts, 0 for texts with nothing in common."""
    longest = max(len(one), len(other))
    return 1 - edit_distance(one, other) / longest if longest else 1.0
