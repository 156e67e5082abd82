"""The content and the file formats of checkpoints."""
