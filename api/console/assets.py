"""Reads the console's files once, and serves them under a hash of their content.

The files are served as written, without a build step. The name of their common folder is a hash of
all contents, so browsers cache the files forever, modules import each other by relative paths, and
files of different releases never mix.
"""

import base64
import hashlib
import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from api.middleware.documents import Document

ASSETS = "/console"
"""The path below which the files are served."""

_PAGE = "index.html"
_CACHE_FOREVER = "public, max-age=31536000, immutable"
_REVALIDATE = "no-cache"
_MEDIA_TYPES: Mapping[str, str] = {
    "css": "text/css",
    "html": "text/html",
    "js": "text/javascript",
    "mjs": "text/javascript",
    "svg": "image/svg+xml",
    "txt": "text/plain",
}
_BARE_NAMES: Mapping[str, str] = {
    "preact": "vendor/preact.mjs",
    "preact/hooks": "vendor/preact-hooks.mjs",
    "htm": "vendor/htm.mjs",
}
"""The files of the modules that other modules import by a bare name."""


class Console:
    """The console's page and files, as HTTP documents."""

    def __init__(self) -> None:
        """Read all files of the package."""
        texts = dict(_texts(files(__package__).joinpath("static")))
        page = texts.pop(_PAGE)
        self.folder = f"{ASSETS}/{_release(texts)}"
        import_map = self._import_map()
        headers = _page_headers(_policy(import_map))
        page = (
            page.replace("{folder}", self.folder)
            .replace("{import-map}", import_map)
            .replace("{preloads}", self._preloads(texts))
        )
        self.page = Document(page, "text/html", headers, caching=_REVALIDATE)
        self._assets = {
            f"{self.folder}/{name}": Document(
                text, _MEDIA_TYPES[name.rpartition(".")[2]], caching=_CACHE_FOREVER
            )
            for name, text in texts.items()
        }

    def asset(self, path: str) -> Document | None:
        """Return the file at a path of this release, or None if no file has this path."""
        return self._assets.get(path)

    def _import_map(self) -> str:
        paths = {name: f"{self.folder}/{file}" for name, file in _BARE_NAMES.items()}
        return json.dumps({"imports": paths}, separators=(",", ":"))

    def _preloads(self, texts: Mapping[str, str]) -> str:
        """Return links that make the browser fetch all modules in parallel."""
        modules = sorted(
            name for name in texts if name.endswith(("js", "mjs")) and not name.startswith("words/")
        )
        return "".join(f'<link rel="modulepreload" href="{self.folder}/{one}">' for one in modules)


@cache
def console() -> Console:
    """Return the console, whose files are read only once."""
    return Console()


def _texts(folder: Traversable, above: str = "") -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for entry in sorted(folder.iterdir(), key=lambda one: one.name):
        if entry.is_dir():
            found += _texts(entry, f"{above}{entry.name}/")
        elif entry.name.rpartition(".")[2] in _MEDIA_TYPES:
            found.append((above + entry.name, entry.read_text(encoding="utf-8")))
    return found


def _release(texts: Mapping[str, str]) -> str:
    total = hashlib.sha256()
    for name, text in texts.items():
        total.update(f"{name}\0{len(text)}\0{text}".encode())
    return total.hexdigest()[:16]


def _policy(import_map: str) -> str:
    """Return a Content-Security-Policy that allows the console's files and its import map."""
    digest = base64.b64encode(hashlib.sha256(import_map.encode()).digest()).decode()
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src 'self' 'sha256-{digest}'",
            "style-src 'self'",
            "img-src 'self' blob:",
            "connect-src 'self'",
            "form-action 'self'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )


def _page_headers(policy: str) -> dict[str, str]:
    return {
        "Content-Security-Policy": policy,
        "Cross-Origin-Opener-Policy": "same-origin",
        "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
        "Referrer-Policy": "same-origin",
        "X-Frame-Options": "DENY",
    }
