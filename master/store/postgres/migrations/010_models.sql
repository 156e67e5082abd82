-- The model registry.

CREATE TABLE models (
  id          serial PRIMARY KEY,
  name        text COLLATE "C" NOT NULL UNIQUE,
  description text COLLATE "C" NOT NULL DEFAULT '',
  notes       text NOT NULL DEFAULT '',
  metadata    json NOT NULL DEFAULT '{}',
  labels      jsonb NOT NULL DEFAULT '[]',
  workspace   int NOT NULL,
  owner       int NOT NULL,
  archived    boolean NOT NULL DEFAULT false,
  created_at  timestamptz NOT NULL,
  updated_at  timestamptz NOT NULL,
  last_number int NOT NULL DEFAULT 0  -- the last version number; numbers are not reused
);
CREATE INDEX models_workspace ON models (workspace);

CREATE TABLE model_versions (
  id         serial PRIMARY KEY,
  model      int NOT NULL REFERENCES models ON DELETE CASCADE,
  version    int NOT NULL,
  checkpoint text COLLATE "C" NOT NULL,
  name       text NOT NULL DEFAULT '',
  comment    text NOT NULL DEFAULT '',
  notes      text NOT NULL DEFAULT '',
  metadata   json NOT NULL DEFAULT '{}',
  labels     jsonb NOT NULL DEFAULT '[]',
  owner      int NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  UNIQUE (model, version)
);
CREATE INDEX model_versions_checkpoint ON model_versions (checkpoint);

-- Begins a write between two batches. Like hold_epoch(), but batches change the locked row, so they
-- wait for the end of this write and then see it. A model version is created in this way: otherwise
-- a batch that drops the checkpoint could check its holders just before the version exists.
CREATE FUNCTION hold_batches(mine bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  present bigint;
BEGIN
  SELECT epoch INTO present FROM fencing FOR SHARE;
  IF present <> mine THEN
    RAISE EXCEPTION 'epoch % is over, % is here', mine, present USING ERRCODE = 'RS001';
  END IF;
END $$;

-- The checkpoints that may not be deleted: also those that a model version uses.
DROP VIEW held_checkpoints;
CREATE VIEW held_checkpoints (checkpoint, holder) AS
  SELECT e.warm_start, 'experiment ' || e.id FROM experiments e
  WHERE e.warm_start IS NOT NULL AND e.state NOT IN ('DELETING', 'DELETE_FAILED', 'DELETED')
UNION
  SELECT s.checkpoint, 'trial ' || t.id
  FROM experiments e JOIN trials t ON t.experiment = e.id
  CROSS JOIN LATERAL (VALUES (t.latest_checkpoint), (t.warm_start)) s (checkpoint)
  WHERE s.checkpoint IS NOT NULL AND e.state NOT IN
    ('COMPLETED', 'CANCELED', 'ERROR', 'DELETING', 'DELETE_FAILED', 'DELETED')
UNION
  SELECT v.checkpoint, 'version ' || v.version || ' of model ' || m.name
  FROM model_versions v JOIN models m ON m.id = v.model;
