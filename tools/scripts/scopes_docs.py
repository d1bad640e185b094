"""Writes the list of scopes in docs/api/authentication.md from the routes.

Command: ``python -m tools.scripts.scopes_docs``.
"""

import re
from collections import defaultdict
from pathlib import Path
from textwrap import fill

from api.app import create_app
from api.security.permissions import Scope, permissions_of

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "api" / "authentication.md"
_LIST = re.compile(r"(?<=<!-- scopes -->\n).*?(?=<!-- end of scopes -->)", re.S)


def render(page: str) -> str:
    """Return the text of ``page`` with an up-to-date list of scopes."""
    return _LIST.sub(lambda _: _list(), page)


def _list() -> str:
    calls: defaultdict[Scope, list[str]] = defaultdict(list)
    for (method, path), access in permissions_of(create_app()).access.items():
        for scope in access.scopes:
            calls[scope].append(f"{method} `{path}`")
    items = (f"- `{scope}`: {', '.join(calls[scope])}" for scope in Scope)
    return "".join(
        f"{fill(item, 120, subsequent_indent='  ', break_on_hyphens=False)}\n" for item in items
    )


if __name__ == "__main__":
    DOCUMENT.write_text(render(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"written: {DOCUMENT}")
