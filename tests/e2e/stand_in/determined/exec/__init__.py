"""The programs that run in a task in addition to the program of the user."""
