"""Launchers: programs that start the processes of a trial, `python3 -m det.launch.NAME`."""
