"""The processes of a trial: process groups, collectives, devices, and how gradients are exchanged."""
