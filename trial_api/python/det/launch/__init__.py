"""Programs that start the processes of a trial: `python3 -m det.launch.<name>`."""
