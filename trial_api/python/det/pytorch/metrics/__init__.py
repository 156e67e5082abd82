"""Metrics of batches, and their reduction over batches and ranks."""
