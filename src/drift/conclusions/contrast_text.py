"""A contrast card as Markdown and as text."""

import textwrap
from collections.abc import Sequence

import pandas as pd

from drift.conclusions.contrast_content import CardContent
from drift.conclusions.contrast_sections import Section, sections

WIDTH = 110
SIMULATED = "SIMULATED DATA: nothing below is a finding about the models named."


def as_markdown(card: CardContent) -> str:
    """The card as a Markdown page."""
    parts = [f"# {card.contrast}", *_notes(card)]
    for section in sections(card):
        parts += [f"## {section.title}", "\n".join(f"- {line}" for line in section.lines), _grid(section.table)]
    return "\n\n".join(part for part in parts if part) + "\n"


def as_text(card: CardContent) -> str:
    """The card for a terminal."""
    parts = ["\n".join([card.contrast, "=" * len(card.contrast), *_notes(card)])]
    parts += [
        "\n".join([section.title, *map(_wrapped, section.lines), *_columns(section)]) for section in sections(card)
    ]
    return "\n\n".join(parts)


def _notes(card: CardContent) -> list[str]:
    source = f"{card.study}, card {card.model_card}: {card.title}"
    return [SIMULATED, source] if card.simulated else [source]


def _grid(table: Sequence[dict[str, str]]) -> str:
    if not table:
        return ""
    rows = [list(table[0]), ["---"] * len(table[0]), *(list(row.values()) for row in table)]
    return "\n".join("| " + " | ".join(cell.replace("|", r"\|") for cell in row) + " |" for row in rows)


def _columns(section: Section) -> list[str]:
    return [textwrap.indent(pd.DataFrame(section.table).to_string(index=False), "  ")] if section.table else []


def _wrapped(line: str) -> str:
    return textwrap.fill(line, WIDTH, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False)
