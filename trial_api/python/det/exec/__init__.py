"""Programs that run inside a task: `python3 -m det.exec.NAME`."""
