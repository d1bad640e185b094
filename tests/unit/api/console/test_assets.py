"""The console's files: allowed content, maximum size, and HTTP headers."""

import gzip
import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest
from starlette.requests import Request

from api.console.assets import ASSETS, Console, console
from api.console.routes import VIEWS
from ingest.errors import CaptureErrorCode

ROOT = Path(__file__).resolve().parents[4]
STATIC = ROOT / "api" / "console" / "static"
VENDOR_SHA256: Final[Mapping[str, str]] = {
    # htm 3.1.1, dist/htm.mjs
    "htm.mjs": "ab33dd3f38059b9be4d5f5350128eefb2356639c4e0bbe9d9e8b3ba75847e9e4",
    # preact 11.2.0, hooks/dist/hooks.mjs and dist/preact.mjs
    "preact-hooks.mjs": "e862ab2973aa6455eaa0f77c5d832d2157d6be59a17c8ba546550a575b58c6b4",
    "preact.mjs": "bdcbd9abdf2c77c5c45326eab42191e949222d479d0d5f69467387a77040cb55",
}
FIRST_LOAD_BYTES = 250_000
_SPOKEN = re.compile(r'\bt\(\s*"((?:[^"\\]|\\.)*)"')
_COUNTED = re.compile(r'\btn\([^"]*?"((?:[^"\\]|\\.)*)",\s*"((?:[^"\\]|\\.)*)"')
_LINE = re.compile(r'^  "((?:[^"\\]|\\.)*)": "((?:[^"\\]|\\.)*)",$', re.M)
_TABLES = (STATIC / "words" / "pt.js").read_text(encoding="utf-8").split("export const sentences")
PORTUGUESE, SENTENCES = (dict(_LINE.findall(table)) for table in _TABLES)
_FIELD_ERROR = re.compile(
    r'(?<!\[)"((?:(?:must|has|contains|cannot|requires|is)(?! not resp) |The stream URL)[^"\n]+)"'
)
_NO_FIELDS = re.compile(r"/(adapters|cli|db|health|oidc|restore)/|settings\.py|openapi\.py")


def _own_modules() -> Iterator[Path]:
    return (path for path in STATIC.rglob("*.js") if path.parent.name != "words")


def _get(path: str, **headers: str) -> Request:
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": "GET", "path": path, "headers": raw}
    return Request(scope)


def test_libraries_are_the_published_files() -> None:
    found = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in (STATIC / "vendor").glob("*.mjs")
    }

    assert found == VENDOR_SHA256
    assert len(list((STATIC / "vendor").glob("*-LICENSE.txt"))) == 2


def test_the_first_load_is_small() -> None:
    files = [path for path in STATIC.rglob("*") if path.is_file()]

    assert sum(len(gzip.compress(path.read_bytes())) for path in files) < FIRST_LOAD_BYTES


@pytest.mark.parametrize("path", sorted(_own_modules()), ids=lambda path: path.name)
def test_a_module_calls_no_other_host_and_evaluates_no_text(path: Path) -> None:
    text = path.read_text(encoding="utf-8")

    assert not re.search(r"https?://(?!www\.w3\.org)[a-z]", text.replace("http://www.w3.org", ""))
    assert not re.search(r"innerHTML|dangerouslySet|\beval\(|new Function|document\.write", text)


def test_all_that_is_said_is_said_in_portuguese_too() -> None:
    said: set[str] = set()
    for path in _own_modules():
        text = path.read_text(encoding="utf-8")
        said |= set(_SPOKEN.findall(text))
        said |= {each for pair in _COUNTED.findall(text) for each in pair}

    assert said == set(PORTUGUESE)
    for english, portuguese in (PORTUGUESE | SENTENCES).items():
        values = re.compile(r"\{\w+\}")
        assert sorted(values.findall(english)) == sorted(values.findall(portuguese)), english


def test_every_field_error_of_the_api_has_a_portuguese_text() -> None:
    said: set[str] = set()
    for path in (*(ROOT / "api").rglob("*.py"), *(ROOT / "common").glob("[apru]*/*.py")):
        if not _NO_FIELDS.search(path.as_posix()):
            text = re.sub(r'"\s*\n\s*f?"', "", path.read_text(encoding="utf-8"))
            said |= set(_FIELD_ERROR.findall(text))
    forms = [re.sub(r"\\{.*\\}|(?<= )$", ".+", re.escape(each)) for each in said]
    known = "\n".join(SENTENCES)

    assert len(forms) > 70
    assert [each for each in forms if not re.search(f"^{each}$", known, re.M)] == []


def test_every_capture_error_has_a_remedy_and_a_portuguese_text() -> None:
    reasons = {code.value for code in CaptureErrorCode}

    assert all(re.fullmatch(r"[^.]+\. .+\.", reason) for reason in reasons)
    assert reasons <= set(SENTENCES)


def test_the_page_is_served_at_the_path_of_each_view() -> None:
    text = (STATIC / "app.js").read_text(encoding="utf-8")
    forms = set(re.findall(r'\{ form: "([^"]+)"', text))

    assert {re.sub(r":(\w+)", r"{\1}", form) for form in forms} == set(VIEWS)


def test_every_import_names_a_file() -> None:
    for path in _own_modules():
        for name in re.findall(r'from "(\.[^"]+)"', path.read_text(encoding="utf-8")):
            assert (path.parent / name).resolve().is_file(), f"{path.name} imports {name}"


def test_nothing_runs_on_the_page_but_its_own_files() -> None:
    answer = console().page.answer(_get("/"))
    policy = dict(
        part.split(" ", 1) for part in answer.headers["content-security-policy"].split("; ")
    )

    assert policy["default-src"] == "'none'"
    assert policy["frame-ancestors"] == "'none'"
    assert policy["connect-src"] == "'self'"
    assert policy["style-src"] == "'self'"
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["cache-control"] == "no-cache"
    inline = re.findall(r"<script(?![^>]*src=)[^>]*>(.*?)</script>", bytes(answer.body).decode())
    assert len(inline) == 1 and inline[0].startswith('{"imports"')


def test_files_are_cached_forever_under_a_name_of_their_content() -> None:
    one = console()
    path = f"{one.folder}/app.js"
    found = one.asset(path)
    assert found is not None and path.startswith(f"{ASSETS}/")
    answer = found.answer(_get(path, accept_encoding="gzip"))

    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert answer.headers["content-encoding"] == "gzip"
    assert answer.headers["content-type"].startswith("text/javascript")
    assert gzip.decompress(bytes(answer.body)) == (STATIC / "app.js").read_bytes()
    again = found.answer(_get(path, if_none_match=answer.headers["etag"]))
    assert again.status_code == 304
    assert Console().folder == one.folder
    assert one.asset(f"{ASSETS}/another-release/app.js") is None
    assert one.asset(f"{one.folder}/../routes.py") is None
