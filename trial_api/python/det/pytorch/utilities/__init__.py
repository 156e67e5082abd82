"""Random generators and memory allocation of the process."""
