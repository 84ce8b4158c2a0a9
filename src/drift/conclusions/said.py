"""What a published key means: said once, beside its type; schema and documentation are written from it."""

from dataclasses import dataclass

PP = "pp"
SHARE = "proportion"
PROBABILITY = "probability"
ROWS = "rows"


@dataclass(frozen=True)
class Said:
    """Meaning and unit of a field, as `Annotated[type, Said(meaning, unit)]`. No unit: text or a bare number."""

    meaning: str
    unit: str = ""
