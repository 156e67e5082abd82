"""The training loop: Trainer, schedule, validation and checkpointing."""
