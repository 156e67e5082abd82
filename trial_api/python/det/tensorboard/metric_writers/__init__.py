"""Writers for TensorBoard that existing scripts import."""
