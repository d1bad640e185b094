"""``/api/docs``: the OpenAPI description as a page to read, without any script.

Written here instead of shipping Swagger UI: that is a megabyte and a half of scripts to keep up to
date, and from elsewhere it would tell a stranger who reads it.
"""

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from api.docs.examples import example_of
from api.middleware.documents import Document
from api.middleware.guard import GuardedRoute
from api.openapi import description_of
from api.security.permissions import Public, requires

router = APIRouter(route_class=GuardedRoute, include_in_schema=False)

_Json = Mapping[str, Any]
# Nothing may be loaded or run, whatever a text in the description holds.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_REFERENCE = "#/components/schemas/"
_TEXT = ("application/json", "text/")
_CODE = re.compile("`([^`]+)`")
_ITEM = "- "


@router.get("/api/docs")
@requires(Public.ANYBODY)
async def docs(request: Request) -> Response:
    """Answer with the page."""
    state = request.app.state
    if getattr(state, "docs_page", None) is None:
        page = render(description_of(request.app))
        state.docs_page = Document(page, "text/html", {"Content-Security-Policy": _POLICY})
    document: Document = state.docs_page
    return document.answer(request)


def render(description: _Json) -> str:
    """Return the page of an OpenAPI description."""
    info = description["info"]
    calls = [
        (path, method, _written_out(operation, description["components"]))
        for path, operations in description["paths"].items()
        for method, operation in operations.items()
    ]
    schemas: _Json = description["components"]["schemas"]
    title = f"{escape(info['title'])} {escape(info['version'])}"
    return "".join(
        (
            f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>',
            '<meta name="viewport" content="width=device-width"><style>',
            _style(),
            f"</style><h1>{title}</h1>{_prose(info['description'])}",
            '<p>For programs: <a href="/api/openapi.json">/api/openapi.json</a></p>',
            "<h2>Calls</h2><table>",
            *(_contents_row(*call) for call in calls),
            "</table>",
            *(_call(*call, schemas) for call in calls),
            "<h2>Bodies</h2>",
            *(_schema(name, schema) for name, schema in sorted(schemas.items())),
        )
    )


def _written_out(operation: _Json, components: _Json) -> _Json:
    """Return an operation with what it shares with others in the place of the references."""
    answers = operation["responses"].items()
    return {
        **operation,
        "responses": {status: _followed(answer, components) for status, answer in answers},
        "parameters": [_followed(one, components) for one in operation.get("parameters", ())],
    }


def _followed(part: _Json, components: _Json) -> _Json:
    if "$ref" not in part:
        return part
    _, _, section, name = part["$ref"].split("/")
    found: _Json = components[section][name]
    return found


def _contents_row(path: str, method: str, operation: _Json) -> str:
    name = escape(operation["operationId"])
    link = f'<a href="#{name}">{method.upper()} {escape(path)}</a>'
    return _row(f"<code>{link}</code>", escape(operation["summary"]), _scope(operation))


def _call(path: str, method: str, operation: _Json, schemas: _Json) -> str:
    name = escape(operation["operationId"])
    answers = sorted(operation["responses"].items())
    return "".join(
        (
            f'<h3 id="{name}"><code>{method.upper()} {escape(path)}</code></h3>',
            f"<p>{_scope(operation)}</p>{_prose(operation.get('description', ''))}",
            _table("Parameters", map(_parameter, operation["parameters"])),
            _body(operation.get("requestBody"), schemas),
            _table("Answers", (_answer(*one) for one in answers)),
            *(_examples(answer, schemas) for status, answer in answers if status.startswith("2")),
        )
    )


def _scope(operation: _Json) -> str:
    scopes = [scope for way in operation["security"] for names in way.values() for scope in names]
    if scopes:
        return "scope " + ", ".join(f"<code>{escape(scope)}</code>" for scope in scopes)
    if len(operation["security"]) > 1:
        return "any key or session"
    return "session" if operation["security"] else "for anybody"


def _parameter(parameter: _Json) -> str:
    needed = ", required" if parameter.get("required") else ""
    return _row(
        f"<code>{escape(parameter['name'])}</code>",
        f"{parameter['in']}{needed}",
        _type(parameter["schema"]),
        _prose(parameter.get("description", "")),
    )


def _body(body: _Json | None, schemas: _Json) -> str:
    if body is None:
        return ""
    kinds = (
        _row(f"<code>{escape(kind)}</code>", _type(content.get("schema", {})))
        for kind, content in body["content"].items()
    )
    return _table("Body", kinds) + _prose(body.get("description", "")) + _examples(body, schemas)


def _examples(part: _Json, schemas: _Json) -> str:
    """Return examples of a body or an answer, to be unfolded; none of what is not text."""
    texts = (
        _example(content, schemas)
        for kind, content in part.get("content", {}).items()
        if kind.startswith(_TEXT)
    )
    return "".join(
        f"<details><summary>Example</summary><pre>{escape(text)}</pre></details>" for text in texts
    )


def _example(content: _Json, schemas: _Json) -> str:
    if "example" in content:
        return str(content["example"])
    value = example_of(content["schema"], schemas)
    return json.dumps(value, ensure_ascii=False, indent=2)


def _answer(status: str, answer: _Json) -> str:
    kinds = ", ".join(
        f"{escape(kind)}: {_type(content.get('schema', {}))}"
        for kind, content in answer.get("content", {}).items()
    )
    return _row(f"<code>{status}</code>", kinds or "empty", escape(answer["description"]))


def _schema(name: str, schema: _Json) -> str:
    head = f'<h3 id="schema-{escape(name)}"><code>{escape(name)}</code></h3>'
    needed = set(schema.get("required", ()))
    fields = (
        _row(
            f"<code>{escape(field)}</code>",
            "required" if field in needed else "",
            _type(one),
            _prose(one.get("description", "")),
        )
        for field, one in schema.get("properties", {}).items()
    )
    kind = "" if "properties" in schema else f"<p>{_type(schema)}</p>"
    return head + _prose(schema.get("description", "")) + kind + _table("", fields)


def _type(schema: _Json) -> str:
    """Return what a schema allows, in a few words."""
    if "$ref" in schema:
        name = escape(schema["$ref"].removeprefix(_REFERENCE))
        return f'<a href="#schema-{name}">{name}</a>'
    for choice in ("anyOf", "oneOf", "allOf"):
        if choice in schema:
            return " or ".join(_type(one) for one in schema[choice])
    if "enum" in schema:
        return " | ".join(f"<code>{escape(str(one))}</code>" for one in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return escape(" ".join(_words(schema)))


def _words(schema: _Json) -> Iterable[str]:
    kind = schema.get("type")
    kinds = kind if isinstance(kind, list) else [kind]
    yield str(schema.get("format") or kinds[0] or schema.get("const") or "anything")
    bounds = {"minimum": "≥", "maximum": "≤", "exclusiveMinimum": ">", "exclusiveMaximum": "<"}
    for name, sign in bounds.items():
        if name in schema:
            yield f"{sign} {schema[name]:g}"
    if "maxLength" in schema:
        yield f"of at most {schema['maxLength']} characters"
    if schema.get("default") is not None:
        yield f"(default {schema['default']})"
    yield from (f"or {other}" for other in kinds[1:])


def _prose(text: str) -> str:
    return "".join(_paragraph(part.strip()) for part in text.split("\n\n") if part.strip())


def _paragraph(text: str) -> str:
    marked = _CODE.sub(r"<code>\1</code>", escape(text))
    if not marked.startswith(_ITEM):
        return f"<p>{marked}</p>"
    items = marked.removeprefix(_ITEM).split(f"\n{_ITEM}")
    return "<ul>" + "".join(f"<li>{item}</li>" for item in items) + "</ul>"


def _table(title: str, rows: Iterable[str]) -> str:
    content = "".join(rows)
    head = f"<h4>{title}</h4>" if title else ""
    return f"{head}<table>{content}</table>" if content else ""


def _row(*cells: str) -> str:
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


@cache
def _style() -> str:
    return files(__package__).joinpath("page.css").read_text(encoding="utf-8")
