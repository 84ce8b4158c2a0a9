"""The models, one file each."""
