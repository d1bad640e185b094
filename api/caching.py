"""Answers that nothing in between may keep."""

from fastapi import Depends, Response

_UNKEPT = "private, no-store"


async def _forbid_keeping(response: Response) -> None:
    response.headers["Cache-Control"] = _UNKEPT


UNKEPT = Depends(_forbid_keeping)
"""A dependency of routes whose answers hold secrets, or links that are as good as a key."""
