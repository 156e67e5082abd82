-- Which trials started from a checkpoint, without a look at all of them.
CREATE INDEX trials_warm_start ON trials (warm_start) WHERE warm_start IS NOT NULL;
