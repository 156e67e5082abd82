"""What runs inside of a task: `python3 -m det.exec.<name>`."""
