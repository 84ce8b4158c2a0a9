"""How the numbers of a contrast card are written."""

from drift.conclusions.contrast_parts import ConfidenceInterval, Estimate, Rate

UNKNOWN = "-"


def pp(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:+.1f}"


def interval_pp(value: float | None, lower: float | None, upper: float | None) -> str:
    return f"{pp(value)} [{pp(lower)}, {pp(upper)}]" if value is not None else UNKNOWN


def estimate_pp(found: Estimate) -> str:
    return interval_pp(found.mean, found.lower, found.upper)


def confidence_pp(found: ConfidenceInterval) -> str:
    return interval_pp(found.estimate, found.lower, found.upper)


def confidence(found: ConfidenceInterval) -> str:
    ends = (found.estimate, found.lower, found.upper)
    shown = [UNKNOWN if value is None else f"{value:.3f}" for value in ends]
    return f"{shown[0]} [{shown[1]}, {shown[2]}]"


def estimate(found: Estimate) -> str:
    return f"{found.mean:.3f} [{found.lower:.3f}, {found.upper:.3f}]"


def rate(rate: Rate) -> str:
    if rate.lower is None or rate.upper is None:
        return UNKNOWN
    return f"{rate.hits / rate.rows:.3f} [{rate.lower:.3f}, {rate.upper:.3f}]"


def share(value: float) -> str:
    """A probability; what is an estimate is not printed as 0 or 1."""
    return "<.001" if value < 0.001 else ">.999" if value > 0.999 else f"{value:.3f}"
