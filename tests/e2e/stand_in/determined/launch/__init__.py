"""How the processes of a task are started."""
