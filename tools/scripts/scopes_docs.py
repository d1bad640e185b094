"""Writes the table of scopes in docs/api/authentication.md from the routes.

Command: ``python -m tools.scripts.scopes_docs``.
"""

import re
from collections import defaultdict
from pathlib import Path

from api.app import create_app
from api.security.permissions import Scope, permissions_of

CLONE = Path(__file__).resolve().parents[2]
DOCUMENT = CLONE / "docs" / "api" / "authentication.md"
_TABLE = re.compile(r"(?<=<!-- scopes -->\n).*?(?=<!-- end of scopes -->)", re.S)


def render(page: str) -> str:
    """Return ``page`` with the current table."""
    return _TABLE.sub(lambda _: _table(), page)


def _table() -> str:
    calls: defaultdict[Scope, list[str]] = defaultdict(list)
    for (method, path), access in permissions_of(create_app()).access.items():
        for scope in access.scopes:
            calls[scope].append(f"`{method} {path}`")
    rows = [f"| `{scope}` | {', '.join(calls[scope])} |" for scope in Scope]
    return "\n".join(("| scope | calls |", "|---|---|", *rows, ""))


if __name__ == "__main__":
    DOCUMENT.write_text(render(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"written: {DOCUMENT}")
