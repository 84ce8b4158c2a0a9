"""From a model to draws on disk: compiling, sampling, convergence checks, the store."""
