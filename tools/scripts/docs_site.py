"""Builds the documentation site from docs/ with Zensical (``make site``), as static files.

The README, the changelog and SECURITY.md become pages of the site, because pages link to these
files. Links to other files in the clone are replaced with the file names. Broken links are errors.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

CLONE: Final = Path(__file__).resolve().parents[2]
DOCS: Final = CLONE / "docs"
OUT: Final = CLONE / ".local" / "site"
_LINK: Final = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")
_TAKEN_ALONG: Final = {
    CLONE / "README.md": Path("readme.md"),
    CLONE / "CHANGELOG.md": Path("changelog.md"),
    CLONE / "SECURITY.md": Path("reporting.md"),
}


def build(out: Path) -> None:
    """Build the site in the folder ``out``, and replace the folder's content.

    Raises:
        CalledProcessError: a link is broken, or the configuration is invalid.
    """
    with TemporaryDirectory(prefix="platestream-site-") as folder:
        stage = Path(folder)
        shutil.copytree(DOCS, stage / "pages")
        (stage / "pages" / "zensical.toml").rename(stage / "zensical.toml")
        for path in (*DOCS.rglob("*.md"), *_TAKEN_ALONG):
            page = _page(path)
            (stage / "pages" / page).write_text(_rewritten(path, page), encoding="utf-8")
        zensical = Path(sys.executable).with_name("zensical")
        subprocess.run((zensical, "build", "--strict"), cwd=stage, check=True)
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(stage / "site", out)


def _page(path: Path) -> Path:
    return _TAKEN_ALONG.get(path) or path.relative_to(DOCS)


def _rewritten(path: Path, page: Path) -> str:
    """Return a page's text with links that work on the site."""

    def link(found: re.Match[str]) -> str:
        is_picture, text, address, anchor = found.groups()
        if ":" in address:
            return found[0]
        target = (path.parent / address).resolve()
        if target not in _TAKEN_ALONG and not target.is_relative_to(DOCS):
            name = str(target.relative_to(CLONE))
            return f"{text} (`{name}`)" if text != name else f"`{name}`"
        place = os.path.relpath(_page(target), page.parent)
        return f"{is_picture}[{text}]({place}{anchor or ''})"

    return _LINK.sub(link, path.read_text(encoding="utf-8"))


if __name__ == "__main__":
    build(OUT)
    print(f"the site is in {OUT}; to view it: python -m http.server --directory {OUT}")
