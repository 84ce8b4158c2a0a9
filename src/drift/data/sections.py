"""Typed reading of one TOML table. Every problem is noted and reading goes on, so that all are reported at once."""

import difflib
import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from drift.scale import label_text

Value = object


@dataclass(frozen=True)
class Section:
    """A table of the study file, and the list that its problems go to. `place` is how a user finds it: `[target] `."""

    place: str
    values: Mapping[str, Value]
    problems: list[str]

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def key(self, key: str) -> str:
        """The key as a user finds it: `[target] weighting`."""
        return f"{self.place}{key}"

    def note(self, problem: str) -> None:
        self.problems.append(problem)

    def only(self, known: Collection[str]) -> None:
        """Note every key that nobody reads, with the nearest one that somebody does."""
        for key in self.values:
            if key not in known:
                self.note(f"{self.key(key)} is unknown{did_you_mean(key, known)}; known here: {', '.join(known)}")

    def text(self, key: str, example: str = "") -> str:
        """A text that must be there."""
        found = self.optional_text(key)
        if found is None and key not in self.values:
            self.note(f'{self.key(key)} is missing: write {key} = "{example or "..."}"')
        return found or ""

    def optional_text(self, key: str) -> str | None:
        value = self.values.get(key)
        if value is None or (isinstance(value, str) and value.strip()):
            return value
        self.note(f"{self.key(key)} is {_shown(value)}: write a text in quotes")
        return None

    def whole(self, key: str, example: int, least: int = 0) -> int:
        """A whole number that must be there."""
        if key not in self.values:
            self.note(f"{self.key(key)} is missing: write {key} = {example}")
            return least
        return self.optional_whole(key, least) or least

    def optional_whole(self, key: str, least: int = 0) -> int | None:
        value = self.values.get(key)
        if value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= least):
            return value
        self.note(f"{self.key(key)} is {_shown(value)}: write a whole number of at least {least}")
        return None

    def flag(self, key: str) -> bool:
        value = self.values.get(key, False)
        if not isinstance(value, bool):
            self.note(f"{self.key(key)} is {_shown(value)}: write true or false")
        return value is True

    def choice[Word: str](self, key: str, allowed: tuple[Word, ...], default: Word) -> Word:
        return self.optional_choice(key, allowed) or default

    def optional_choice[Word: str](self, key: str, allowed: tuple[Word, ...]) -> Word | None:
        value = self.values.get(key)
        for word in allowed:
            if value == word:
                return word
        if value is not None:
            hint = did_you_mean(str(value), allowed)
            self.note(f"{self.key(key)} is {_shown(value)}: write {_either(allowed)}{hint}")
        return None

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts; numbers are taken as the text that they write. Repeats are noted."""
        values = self.values.get(key, [])
        if not isinstance(values, list) or any(not isinstance(value, str | int | float) for value in values):
            self.note(f'{self.key(key)} is {_shown(values)}: write a list such as ["a", "b"]')
            return ()
        found = tuple(value.strip() if isinstance(value, str) else label_text(value) for value in values)
        if len(set(found)) < len(found):
            self.note(f"{self.key(key)} names {_twice(found)!r} twice")
        return found

    def numbers(self, key: str) -> tuple[float, ...]:
        values = self.values.get(key, [])
        listed = values if isinstance(values, list) else [None]
        found = [number(value) for value in listed]
        if None in found:
            self.note(f"{self.key(key)} is {_shown(values)}: write a list of numbers such as [3, 7]")
        return tuple(value for value in found if value is not None)

    def table(self, key: str) -> "Section":
        """A table inside this one; an empty one where it is absent or no table."""
        value = self.values.get(key, {})
        if isinstance(value, dict):
            return Section(f"[{key}] ", value, self.problems)
        self.note(f"{self.key(key)} is {_shown(value)}: write it as a table, [{key}] on a line of its own")
        return Section(f"[{key}] ", {}, self.problems)

    def tables(self, key: str) -> list["Section"]:
        """A list of tables, `[[key]]` in the file."""
        values = self.values.get(key, [])
        if not isinstance(values, list) or any(not isinstance(value, dict) for value in values):
            self.note(f"{self.key(key)} is {_shown(values)}: write each as a table that begins with [[{key}]]")
            return []
        return [Section(f"[[{key}]] {place}, ", value, self.problems) for place, value in enumerate(values, 1)]


def number(value: Value) -> float | None:
    """A finite number, or None. True and False are no numbers."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?` where a known word is near, else nothing."""
    folded = {name.casefold(): name for name in known}
    near = difflib.get_close_matches(word.casefold(), folded, n=1, cutoff=0.6)
    return f" (did you mean {folded[near[0]]!r}?)" if near else ""


def _shown(value: Value) -> str:
    return repr(value) if not isinstance(value, bool) else str(value).lower()


def _either(words: Iterable[str]) -> str:
    return " or ".join(f'"{word}"' for word in words)


def _twice(words: tuple[str, ...]) -> str:
    return next(word for place, word in enumerate(words) if word in words[:place])
