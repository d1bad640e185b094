"""The statements that the user who may only read may send.

The engine's ``readonly = 1`` refuses whatever writes, and tables of files and addresses. Seen with
chDB 26.9, it lets through: ``KILL``, and ``GRANT`` and ``BACKUP`` up to where something else is
missing; ``INTO OUTFILE``; the function ``file``; ``DESCRIBE`` of a table function, which opens what
it describes. The rules here refuse these. They hold mistakes and the obvious ways out, which is
less than the users and grants of a ClickHouse server.
"""

import re
from collections.abc import Mapping, Sequence

from deploy.clickhouse.errors import ClickHouseError, ErrorCode
from deploy.clickhouse.statement import leading_word

_STATEMENTS = frozenset({"SELECT", "WITH", "SHOW", "DESCRIBE", "EXISTS", "EXPLAIN"})
_SHOWN = frozenset(
    {
        "CHANGED",
        "COLUMNS",
        "CREATE",
        "DATABASES",
        "ENGINES",
        "EXTENDED",
        "FULL",
        "FUNCTIONS",
        "INDEX",
        "INDEXES",
        "KEYS",
        "SETTING",
        "SETTINGS",
        "TABLES",
        "TEMPORARY",
    }
)
# Names that are refused wherever they stand, so that no way of calling them has to be known:
# arrayMap(file, ...), * APPLY file. The ai functions ask services on the network.
_REFUSED_NAMES = frozenset(
    {
        "embedded_server",
        "file",
        "outfile",
        "parallel",
        "processlist",
        "aiclassify",
        "aiembed",
        "aiextract",
        "aifilter",
        "aigenerate",
        "airedact",
        "aisimilarity",
        "aitranslate",
    }
)
# Table functions that make their rows themselves; all others are refused, known today or not.
_TABLE_FUNCTIONS = frozenset(
    {
        "format",
        "generate_series",
        "generaterandom",
        "generateseries",
        "null",
        "numbers",
        "numbers_mt",
        "primes",
        "sqlstandardvalues",
        "values",
        "view",
        "zeros",
        "zeros_mt",
    }
)
# The others hold statements of other users (processes, errors) or tell about the machine.
_SYSTEM = "system"
_SYSTEM_TABLES = frozenset(
    {
        "columns",
        "data_skipping_indices",
        "data_type_families",
        "databases",
        "formats",
        "functions",
        "keywords",
        "numbers",
        "numbers_mt",
        "one",
        "parts",
        "projections",
        "settings",
        "table_engines",
        "table_functions",
        "tables",
        "time_zones",
        "zeros",
        "zeros_mt",
    }
)

_TOKEN = re.compile(
    r"""
      (?P<gap>\s+)
    | (?P<text>'(?:[^'\\]|\\.|'')*')
    | (?P<quoted>`(?:[^`\\]|\\.|``)*` | "(?:[^"\\]|\\.|"")*")
    | (?P<parameter>\{[^{}:]*:\s*(?i:Identifier)\s*\})
    | (?P<word>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<other>[^'"`])
    """,
    re.VERBOSE | re.DOTALL,
)
_PARAMETER = re.compile(r"\{([^{}:]*):\s*(?i:Identifier)\s*\}")
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")


def refuse_writing() -> None:
    """Refuse what is no reading, as the engine does.

    Raises:
        ClickHouseError: always.
    """
    raise ClickHouseError.of(ErrorCode.READONLY, "Cannot execute query in readonly mode")


def check_reads(
    statement: str, parameters: Mapping[str, str], table_functions: frozenset[str]
) -> None:
    """Let a statement pass that reads tables and nothing else.

    ``statement`` is as the engine writes it (``formatQuery``): without comments, a name in quotes
    only where it has to be, everything else spelt in one way. ``table_functions`` are the engine's,
    in lower case.

    Raises:
        ClickHouseError: it does something else.
    """
    if leading_word(statement) not in _STATEMENTS:
        refuse_writing()
    names = _names(statement, parameters)
    if names[0] == "show" and names[1].upper() not in _SHOWN:
        raise _denied(f"SHOW {names[1].upper()}")
    refused_calls = table_functions - _TABLE_FUNCTIONS
    for name, following, after in zip(names, names[1:], names[2:], strict=False):
        if name in _REFUSED_NAMES:
            raise _denied(name)
        if following == "(" and name in refused_calls:
            raise _denied(f"the table function {name}")
        if (name, following) == (_SYSTEM, ".") and after not in _SYSTEM_TABLES:
            raise _denied(f"the table {_SYSTEM}.{after}")


def _names(statement: str, parameters: Mapping[str, str]) -> Sequence[str]:
    """Return names in lower case and signs, in order, "" for a text; two of these at the end."""
    names: list[str] = []
    position = 0
    while position < len(statement):
        token = _TOKEN.match(statement, position)
        if token is None:
            raise ClickHouseError.of(ErrorCode.SYNTAX_ERROR, "A quote is not closed")
        position = token.end()
        match token.lastgroup:
            case "parameter":
                names += _name_from_outside(token.group(), parameters)
            case "quoted":
                names.append(token.group()[1:-1].lower())
            case "word" | "other":
                names.append(token.group().lower())
            case "text":
                names.append("")
    return [*names, "", ""]


def _name_from_outside(reference: str, parameters: Mapping[str, str]) -> list[str]:
    found = _PARAMETER.fullmatch(reference)
    name = "" if found is None else parameters.get(found.group(1), "")
    if not _PLAIN_NAME.fullmatch(name):
        raise _denied(f"this value for {reference}")
    return re.split(r"(\.)", name.lower())


def _denied(what: str) -> ClickHouseError:
    return ClickHouseError.of(
        ErrorCode.ACCESS_DENIED, f"Not enough privileges: this user may only read, not use {what}"
    )
