"""What can go wrong, one exception per statistical problem, each with every bad row and with what to write instead."""

from collections.abc import Sequence

Row = tuple[int | None, str]  # (line in the file, or None where no line applies; what is wrong there)


class DriftError(Exception):
    """Anything that a command reports in one message; the process then ends with `exit_code`."""

    exit_code = 2


class InputError(DriftError):
    """A study or its data cannot be used as given.

    `source`: the file's name. `headline`: the problem in one line. `rows`: every (line, message), in file order.
    `place`: what a line is called in that file ("line" in text, "row" in a sheet or parquet file).
    `advice`: what to write instead, printed last.
    """

    def __init__(
        self, source: str, headline: str, rows: Sequence[Row] = (), *, place: str = "line", advice: str = ""
    ) -> None:
        self.source = source
        self.headline = headline
        self.rows = tuple(rows)
        self.place = place
        self.advice = advice
        super().__init__(source, headline, self.rows, place, advice)

    def __str__(self) -> str:
        return "\n".join([f"{self.source}: {self.headline}", *map(self._row_text, self.rows), *self._advice_text()])

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuilt, (type(self), self.source, self.headline, self.rows, self.place, self.advice)

    def _row_text(self, row: Row) -> str:
        line, message = row
        where = "" if line is None else f"{self.place} {line}: "
        return f"  {where}{message}".replace("\n", "\n    ")

    def _advice_text(self) -> list[str]:
        return [f"  {self.advice}".replace("\n", "\n  ")] if self.advice else []


def _rebuilt(
    kind: type[InputError], source: str, headline: str, rows: tuple[Row, ...], place: str, advice: str
) -> InputError:
    """An input error from its parts, so that it survives a trip between processes."""
    return kind(source, headline, rows, place=place, advice=advice)


class StudyFileError(InputError):
    """The study file declares something unknown, of the wrong type, or too little."""


class CardFileError(InputError):
    """A model card is absent, or its header declares something unknown."""


class StudyNotFoundError(InputError):
    """No bundled study has this name and no file has this path."""


class UnreadableFileError(InputError):
    """The data file is absent, empty, too large, or not in a form that can be read."""


class UnknownColumnError(InputError):
    """The study file names a column that the data file does not have."""


class UnknownLevelError(InputError):
    """The study file names a model or a domain that does not occur in the data."""


class UnusableRowsError(InputError):
    """Rows with a rating off the scale, an empty identifier, or a missing rating that was not declared."""


class DuplicateRatingsError(InputError):
    """The same participant rated the same response twice and no replicate column tells the ratings apart."""


class DuplicateLabelsError(InputError):
    """The same response was labelled twice and no replicate column tells the rows apart."""


class AuditOutsideTargetError(InputError):
    """Audited rows belong to another population than the target, and nothing declares what they may inform."""


class EmptyCellsError(InputError):
    """The target gives weight to cells of arm and model that have no row."""


class QuestionInTwoDomainsError(InputError):
    """A question belongs to two domains, so neither its effect nor the domain weighting is defined."""


class UnidentifiedTermError(InputError):
    """The design carries no information on a term that the model card has."""


class AnonymousSlotsError(UnidentifiedTermError):
    """Participant identifiers 1, 2, 3 look like positions in a table, not like persons."""


class DisconnectedDesignError(InputError):
    """Some models share no question and no participant with the others: only priors would compare them."""


class CacheFolderError(DriftError):
    """The folder for compiled code cannot be used."""


class PosteriorExistsError(DriftError):
    """A posterior of other inputs has this name already."""


class CorruptPosteriorError(DriftError):
    """A posterior file is damaged or was not written by this package."""
