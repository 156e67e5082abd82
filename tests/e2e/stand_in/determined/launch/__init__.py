"""Launchers for the processes of a task."""
