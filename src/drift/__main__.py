"""The `drift` command: `drift fit ...` is `python -m drift.fit ...`."""

import sys
from collections.abc import Callable, Sequence

Main = Callable[[Sequence[str] | None], int]


def _fit() -> Main:
    from drift.fit import main

    return main


def _conclude() -> Main:
    from drift.conclude import main

    return main


def _simulate() -> Main:
    from drift.simulate import main

    return main


# Name -> the first line of the module's docstring, and a function that imports the module once it is asked for.
COMMANDS: dict[str, tuple[str, Callable[[], Main]]] = {
    "fit": ("Fit a study's model cards and keep each posterior on disk.", _fit),
    "conclude": (
        "Draw the conclusions of stored posteriors: tiers, ranks, equivalence, contrasts, contrast cards.",
        _conclude,
    ),
    "simulate": ("Simulate ratings or scorer labels with the layout of the bundled studies.", _simulate),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit status, 2 for a command that does not exist."""
    words = list(sys.argv[1:] if argv is None else argv)
    match words:
        case ["-h" | "--help", *_]:
            print(help_text())
            return 0
        case ["--version", *_]:
            print(f"drift {_version()}")
            return 0
        case [name, *rest] if name in COMMANDS:
            return COMMANDS[name][1]()(rest)
        case [name, *_]:
            print(f"error: no command {name!r}{_hint(name)}\n\n{help_text()}", file=sys.stderr)
        case _:
            print(help_text(), file=sys.stderr)
    return 2


def help_text() -> str:
    width = max(map(len, COMMANDS))
    listed = "\n".join(f"  {name:<{width}}  {summary}" for name, (summary, _) in COMMANDS.items())
    return f"""\
usage: drift COMMAND ...        the same as: python -m drift.COMMAND ...

commands:
{listed}

options:
  -h, --help   this text; drift COMMAND --help explains a command
  --version    the version

example:
  drift fit frontier-cells

exit status: 0 every check passed, 1 saved but a check failed (no conclusion is drawn), 2 bad input (nothing written)"""


def _version() -> str:
    from drift import __version__

    return __version__


def _hint(name: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, COMMANDS, n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""


if __name__ == "__main__":
    raise SystemExit(main())
