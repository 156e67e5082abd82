"""What runs in a task besides the user's program."""
