"""The documentation site: complete navigation, no broken link, no external content."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.scripts.docs_site import DOCS, build

FOREIGN = re.compile(r"""<(script|link|img|iframe)[^>]*(src|href)=["']?(https?:)?//""")


def _pages(entries: list[dict[str, Any]]) -> Iterator[str]:
    for entry in entries:
        for target in entry.values():
            yield from _pages(target) if isinstance(target, list) else (target,)


def test_every_page_is_in_the_navigation() -> None:
    nav = tomllib.loads((DOCS / "zensical.toml").read_text(encoding="utf-8"))["project"]["nav"]
    named = list(_pages(nav))

    assert len(named) == len(set(named))
    assert {str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md")} <= set(named)


def test_it_is_built_without_a_broken_link_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    build(tmp_path / "site")

    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) > 20
    assert not [page.name for page in pages if FOREIGN.search(page.read_text(encoding="utf-8"))]
