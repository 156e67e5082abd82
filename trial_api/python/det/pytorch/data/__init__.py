"""Data loaders, and how the records of a global batch are divided among the ranks."""
