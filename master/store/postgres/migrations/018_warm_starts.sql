-- Finds the trials that start from a checkpoint without reading all trials.
CREATE INDEX trials_warm_start ON trials (warm_start) WHERE warm_start IS NOT NULL;
