"""From a study file and its data to validated ratings."""
