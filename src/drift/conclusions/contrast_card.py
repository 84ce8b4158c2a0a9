"""The contrast card: one corrected contrast as JSON, Markdown and text.

`docs/contrast-card.md` and `contrast_card.schema.json` say what each key of the JSON means.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from drift.conclusions.contrast_content import CardContent
from drift.conclusions.contrast_text import as_markdown, as_text


@dataclass(frozen=True)
class ContrastCard(CardContent):
    """One corrected contrast: what it is of, what it rests on, and what may be done with it."""

    def as_dict(self) -> dict[str, Any]:
        """Everything, as strict JSON takes it: what is no finite number is null."""
        found = plain(self)
        assert isinstance(found, dict)
        return found

    def as_markdown(self) -> str:
        """The card as a page of its own."""
        return as_markdown(self)

    def as_text(self) -> str:
        """The card for a terminal."""
        return as_text(self)


def plain(value: object) -> Any:
    """A dataclass, mapping or sequence as dictionaries and lists; a number that is not finite is None."""
    if is_dataclass(value) and not isinstance(value, type):
        return {part.name: plain(getattr(value, part.name)) for part in fields(value)}
    if isinstance(value, Mapping):
        return {str(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, tuple | list):
        return [plain(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
