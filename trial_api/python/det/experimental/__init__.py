"""What may still change: `det.experimental.client`."""
