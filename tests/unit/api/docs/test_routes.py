"""The page that shows the description."""

import re
from html.parser import HTMLParser

from api.app import create_app
from api.docs.routes import render
from api.openapi import describe

DESCRIPTION = describe(create_app())
VOID = {"meta"}


class _Reader(HTMLParser):
    """Notes tags, ids and links, and that tags close in order."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        values = dict(attrs)
        self.ids += [values["id"] or ""] if "id" in values else []
        self.links += [values["href"] or ""] if "href" in values else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def _read(page: str) -> _Reader:
    reader = _Reader()
    reader.feed(page)
    assert reader.open == ["html"]
    return reader


def test_every_call_and_every_body_is_there_and_every_link_leads_somewhere() -> None:
    page = render(DESCRIPTION)
    reader = _read(page)

    for method, path in create_app().state.permissions.access:
        if path in DESCRIPTION["paths"]:
            assert f">{method} {path}</code></h3>" in page
    assert len(reader.ids) == len(set(reader.ids))
    for link in reader.links:
        assert link == "/api/openapi.json" or link.removeprefix("#") in reader.ids, link


def test_nothing_runs_and_nothing_comes_from_elsewhere() -> None:
    page = render(DESCRIPTION)

    assert not _read(page).tags & {"script", "link", "img", "iframe", "form", "object"}
    assert not re.search(r"""(src|href|url)\s*[=(]\s*["']?https?:""", page)


def test_texts_are_texts() -> None:
    evil = "<script>alert(1)</script>"
    schema = {"type": "object", "description": evil, "properties": {evil: {"const": evil}}}
    operation = {
        "operationId": "x",
        "summary": evil,
        "description": evil,
        "security": [],
        "parameters": [{"name": evil, "in": "query", "schema": {"enum": [evil]}}],
        "responses": {"200": {"description": evil}},
    }
    page = render(
        {
            "info": {"title": evil, "version": "1", "description": evil},
            "paths": {f"/{evil}": {"get": operation}},
            "components": {"schemas": {"A": schema}},
        }
    )

    assert "<script" not in page
    assert page.count("&lt;script&gt;") >= 9


def test_what_may_be_null_says_so() -> None:
    schema = {
        "title": "Gate",
        "type": "object",
        "description": "A gate.",
        "properties": {"width": {"type": ["number", "null"], "minimum": 0, "default": 2}},
    }

    page = render({**DESCRIPTION, "paths": {}, "components": {"schemas": {"Gate": schema}}})

    assert "number ≥ 0 (default 2) or null" in page
