-- Archiving, retention and deletion of ended experiments.

-- The row of a checkpoint is kept when its files are removed.
ALTER TABLE checkpoints ADD COLUMN state text COLLATE "C" NOT NULL DEFAULT 'COMPLETED';
CREATE INDEX checkpoints_doomed ON checkpoints (id) WHERE state = 'DELETING';

-- How many checkpoints to keep. These columns apply instead of the configuration, which never
-- changes. `retained`: whether the other checkpoints have been dropped since the end of the
-- experiment or the last change of the policy. Experiments that ended before this migration are
-- retained until a user requests it.
ALTER TABLE experiments
  ADD COLUMN archived             boolean NOT NULL DEFAULT false,
  ADD COLUMN retained             boolean NOT NULL DEFAULT false,
  ADD COLUMN save_experiment_best int NOT NULL DEFAULT 0,
  ADD COLUMN save_trial_best      int NOT NULL DEFAULT 1,
  ADD COLUMN save_trial_latest    int NOT NULL DEFAULT 1;
UPDATE experiments SET
  retained             = state IN ('COMPLETED', 'CANCELED', 'ERROR'),
  save_experiment_best = coalesce((config #>> '{checkpoint_storage,save_experiment_best}')::int, 0),
  save_trial_best      = coalesce((config #>> '{checkpoint_storage,save_trial_best}')::int, 1),
  save_trial_latest    = coalesce((config #>> '{checkpoint_storage,save_trial_latest}')::int, 1);
CREATE INDEX experiments_due ON experiments (id) WHERE NOT retained;
CREATE INDEX experiments_deletion ON experiments (id)
  WHERE state IN ('DELETING', 'DELETE_FAILED', 'DELETED');

DROP INDEX experiments_live;
CREATE INDEX experiments_live ON experiments (id)
  WHERE state NOT IN ('COMPLETED', 'CANCELED', 'ERROR', 'DELETING', 'DELETE_FAILED', 'DELETED');

-- The checkpoints whose files must be kept, and what uses them. Only this view defines it.
CREATE VIEW held_checkpoints (checkpoint, holder) AS
  SELECT e.warm_start, 'experiment ' || e.id FROM experiments e
  WHERE e.warm_start IS NOT NULL AND e.state NOT IN ('DELETING', 'DELETE_FAILED', 'DELETED')
UNION
  SELECT s.checkpoint, 'trial ' || t.id
  FROM experiments e JOIN trials t ON t.experiment = e.id
  CROSS JOIN LATERAL (VALUES (t.latest_checkpoint), (t.warm_start)) s (checkpoint)
  WHERE s.checkpoint IS NOT NULL AND e.state NOT IN
    ('COMPLETED', 'CANCELED', 'ERROR', 'DELETING', 'DELETE_FAILED', 'DELETED');

-- Values that outlive the rows from which they were computed: the highest IDs, because IDs are not
-- reused, and the slot hours used in a month.
CREATE TABLE highest_deleted (
  one        boolean PRIMARY KEY DEFAULT true CHECK (one),
  experiment int NOT NULL,
  trial      int NOT NULL,
  submitted  bigint NOT NULL
);
INSERT INTO highest_deleted (experiment, trial, submitted) VALUES (0, 0, 0);
CREATE TABLE deleted_usage (
  owner      text NOT NULL,
  workspace  text NOT NULL,
  began_at   timestamptz NOT NULL,
  ended_at   timestamptz NOT NULL,
  slots      double precision NOT NULL  -- fractions of a slot are counted as such
);
CREATE INDEX deleted_usage_ended ON deleted_usage (ended_at);
