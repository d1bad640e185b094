"""Makes a site of docs/: ``make site``; Zensical builds it, and any web server serves it.

Pages link to the README, the changelog and how to report a fault, which become pages of the site;
links to other files of the clone become their names. A link that leads nowhere fails the build.
"""

import argparse
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
_CONFIGURATION: Final = "zensical.toml"
_TAKEN_ALONG: Final = {
    "README.md": "readme.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "reporting.md",
}
_LINK: Final = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")


def build(out: Path) -> None:
    """Build the site into the folder ``out``, which is emptied.

    Raises:
        CalledProcessError: a link leads nowhere, or the configuration is wrong.

    """
    with TemporaryDirectory(prefix="platestream-site-") as folder:
        stage = Path(folder)
        shutil.copytree(DOCS, stage / "pages", ignore=shutil.ignore_patterns(_CONFIGURATION))
        shutil.copy(DOCS / _CONFIGURATION, stage)
        for path in DOCS.rglob("*.md"):
            target = stage / "pages" / path.relative_to(DOCS)
            target.write_text(_rewritten(path, target.relative_to(stage / "pages")))
        for name, page in _TAKEN_ALONG.items():
            (stage / "pages" / page).write_text(_rewritten(CLONE / name, Path(page)))
        zensical = Path(sys.executable).with_name("zensical")
        subprocess.run((zensical, "build", "--strict"), cwd=stage, check=True)
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(stage / "site", out)


def _rewritten(path: Path, page: Path) -> str:
    """Return a page's text, its links being those of the site."""

    def link(found: re.Match[str]) -> str:
        is_picture, text, address, anchor = found.groups()
        if ":" in address:
            return found[0]
        target = (path.parent / address).resolve().relative_to(CLONE)
        place = _place(target)
        if place is None:
            return f"{text} (`{target}`)" if text != str(target) else f"`{target}`"
        relative = os.path.relpath(place, page.parent)
        return f"{is_picture}[{text}]({relative}{anchor or ''})"

    return _LINK.sub(link, path.read_text(encoding="utf-8"))


def _place(target: Path) -> Path | None:
    """Return where a file of the clone is in the site; None where it is not."""
    if str(target) in _TAKEN_ALONG:
        return Path(_TAKEN_ALONG[str(target)])
    return target.relative_to("docs") if target.is_relative_to("docs") else None


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.scripts.docs_site")
    parser.add_argument("--out", type=Path, default=CLONE / ".local" / "site")
    out: Path = parser.parse_args().out
    build(out)
    print(f"the site is in {out}: python -m http.server --directory {out} shows it")


if __name__ == "__main__":
    main()
