-- How many checkpoints a trial has and how large they are, from an index alone: a page of experiments
-- asks it of all their trials.
CREATE INDEX checkpoints_counted ON checkpoints (trial) INCLUDE (size) WHERE state <> 'DELETED';
