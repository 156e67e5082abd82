"""What a user implements and calls: PyTorchTrial, its context, callbacks and units of length."""
