"""Looks into libraries: are the private names that our code relies on still there?"""

import ast
import inspect
from contextlib import suppress
from functools import cache
from pathlib import Path


def defines(owner: type, name: str) -> bool:
    """Return whether a class, or one that it is built on, has ``name`` or gives it to itself."""
    return hasattr(owner, name) or any(
        f"self.{name} =" in source or f"self.{name}:" in source or f"    {name}:" in source
        for source in _sources(owner)
    )


def calls(owner: type, name: str) -> bool:
    """Return whether a class, or one that it is built on, uses its own ``name``."""
    return any(f"self.{name}" in source for source in _sources(owner))


def private_names(path: Path, of_class: str = "") -> set[str]:
    """Return the private attributes and methods that a module of ours, or a class of it, names."""
    tree: ast.AST = ast.parse(path.read_text())
    if of_class:
        tree = next(n for n in ast.walk(tree) if isinstance(n, ast.ClassDef) and n.name == of_class)
    return {
        name
        for node in ast.walk(tree)
        if (name := _name(node)).startswith("_") and not name.startswith("__")
    }


def _name(node: ast.AST) -> str:
    match node:
        case ast.Attribute(attr=name) | ast.FunctionDef(name=name):
            return name
        case ast.AsyncFunctionDef(name=name):
            return name
        case _:
            return ""


@cache
def _sources(owner: type) -> list[str]:
    sources = []
    for base in inspect.getmro(owner):
        with suppress(OSError, TypeError):  # written in C, or made while the program runs
            sources.append(inspect.getsource(base))
    return sources
