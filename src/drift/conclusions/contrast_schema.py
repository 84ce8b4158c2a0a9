"""The contrast card's JSON, described from its types: a JSON Schema and a page of tables.

`python -m drift.conclusions.contrast_schema` writes both where they are published.
"""

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from drift.conclusions.contrast_content import CardContent
from drift.conclusions.said import Said

DIALECT = "https://json-schema.org/draft/2020-12/schema"
SCHEMA_FILE = Path(__file__).with_name("contrast_card.schema.json")
DOCUMENT_FILE = Path(__file__).parents[3] / "docs" / "contrast-card.md"
SIMPLE = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}

INTRODUCTION = """\
# The contrast card

One contrast of a scorer study: what it is of, what it rests on, and what may be done with it. `python -m
drift.conclude` prints one card a contrast and writes it as JSON and Markdown. This page is generated from
`drift.conclusions.contrast_content`; the JSON Schema is `src/drift/conclusions/contrast_card.schema.json`. A number
that does not exist is null. pp: percentage points; every contrast is treatment minus comparator, positive where label 1
is more frequent under the treatment.

Decisions: **retain** (the automatic contrast may be published, with the corrected one beside it), **qualify** (the
corrected one, with the reasons), **reject** (the automatic contrast does not stand), **quarantine** (neither answers
the question), **undecided** (no answer yet).
"""


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a card (draft 2020-12); every key is required, no other is allowed."""
    parts = _parts(CardContent)
    root = _object(CardContent)
    return {
        "$schema": DIALECT,
        "title": "Contrast card",
        **root,
        "$defs": {part.__name__: _object(part) for part in parts},
    }


def documentation() -> str:
    """The page: a table of keys for the card and for each of its parts."""
    return "\n".join([INTRODUCTION, *map(_table, [CardContent, *_parts(CardContent)])])


def _hints(part: type) -> dict[str, tuple[Any, Said]]:
    """Key -> (type, what it means)."""
    hints = get_type_hints(part, include_extras=True)
    found = {}
    for one in fields(part):
        hint, said = get_args(hints[one.name])
        found[one.name] = (hint, said)
    return found


def _parts(part: type) -> list[type]:
    """The dataclasses within a dataclass, in the order in which they are met."""
    found: dict[type, None] = {}
    for hint, _ in _hints(part).values():
        for inner in _classes(hint):
            found |= dict.fromkeys([inner, *_parts(inner)])
    return list(found)


def _classes(hint: Any) -> list[type]:
    if is_dataclass(hint) and isinstance(hint, type):
        return [hint]
    return [found for inner in get_args(hint) for found in _classes(inner)]


def _object(part: type) -> dict[str, Any]:
    hints = _hints(part)
    return {
        "type": "object",
        "description": _first_line(part),
        "properties": {name: _schema(hint) | {"description": _meaning(said)} for name, (hint, said) in hints.items()},
        "required": list(hints),
        "additionalProperties": False,
    }


def _schema(hint: Any) -> dict[str, Any]:
    """The schema of a type: text, number, choice, list, table of one type, part, or one of several."""
    if hint in SIMPLE:
        return {"type": SIMPLE[hint]}
    if is_dataclass(hint) and isinstance(hint, type):
        return {"$ref": f"#/$defs/{hint.__name__}"}
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _schema(inner[0])
    if origin is Literal:
        return {"enum": list(inner)}
    if origin is UnionType:
        return {"anyOf": [_schema(one) for one in inner]}
    if origin is tuple:
        return {"type": "array", "items": _schema(inner[0])}
    assert origin is Mapping
    return {"type": "object", "additionalProperties": _schema(inner[1])}


def _table(part: type) -> str:
    title = "The card" if part is CardContent else part.__name__
    rows = [
        f"| `{name}` | {_name(hint)} | {said.unit} | {_cell(said.meaning)} |"
        for name, (hint, said) in _hints(part).items()
    ]
    return "\n".join(
        [f"## {title}\n", _first_line(part), "", "| key | type | unit | meaning |", "|---|---|---|---|", *rows, ""]
    )


def _name(hint: Any) -> str:
    """A type in words."""
    if hint in SIMPLE:
        return SIMPLE[hint]
    if is_dataclass(hint) and isinstance(hint, type):
        return f"[{hint.__name__}](#{hint.__name__.lower()})"
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Literal:
        return ", ".join(f'"{word}"' for word in inner)
    if origin is UnionType:
        return " or ".join(map(_name, inner))
    if origin is tuple:
        return f"list of {_name(inner[0])}"
    return f"table of {_name(inner[1])}"


def _meaning(said: Said) -> str:
    return f"{said.meaning} ({said.unit})" if said.unit else said.meaning


def _cell(text: str) -> str:
    return text.replace("|", r"\|")


def _first_line(part: type) -> str:
    return (part.__doc__ or "").split("\n")[0]


def main() -> None:
    SCHEMA_FILE.write_text(json.dumps(json_schema(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    DOCUMENT_FILE.write_text(documentation(), encoding="utf-8")


if __name__ == "__main__":
    main()
