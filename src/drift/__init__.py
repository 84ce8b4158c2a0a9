"""Bayesian hierarchical analysis of language-model evaluations.

Import order: a module imports only from its own line and from the lines above it. tests/house/test_layers.py reads
this list and every import, also those within functions.

    errors, scale
    data
    likelihood
    models
    inference
    estimands
    frequentist
    conclusions
    jobs
    command
    fit, conclude, simulate
    __main__
"""

__version__: str


def __getattr__(name: str) -> str:
    """`__version__`, looked up when asked for: importing this package imports nothing else."""
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import version

    return version("drift")
