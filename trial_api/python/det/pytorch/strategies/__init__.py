"""How a trial trains on several slots: `optimizations.strategy` of the experiment config."""
