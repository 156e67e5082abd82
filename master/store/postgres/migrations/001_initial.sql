-- Rows refer to each other by ID without foreign keys: the cluster's state machines keep them
-- consistent, and a batch may contain them in any order. Documents are json, not jsonb, because
-- they must be returned exactly as they were stored: 1.0 as 1.0.

CREATE TABLE fencing (
  one        boolean PRIMARY KEY DEFAULT true CHECK (one),
  epoch      bigint NOT NULL,
  commit_seq bigint NOT NULL
);
INSERT INTO fencing (epoch, commit_seq) VALUES (0, 0);

-- Begins a batch. Raises RS001 if another master has taken over, RS002 if the batch is committed
-- already.
CREATE FUNCTION fence(mine bigint, batch bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  present fencing%ROWTYPE;
BEGIN
  UPDATE fencing SET commit_seq = batch WHERE epoch = mine AND commit_seq < batch;
  IF FOUND THEN
    RETURN;
  END IF;
  SELECT * INTO present FROM fencing;
  IF present.epoch = mine THEN
    RAISE EXCEPTION 'batch % is committed', batch USING ERRCODE = 'RS002';
  END IF;
  RAISE EXCEPTION 'epoch % is over, % is here', mine, present.epoch USING ERRCODE = 'RS001';
END $$;

-- Converts a time to the master's format: microseconds since 1970.
CREATE FUNCTION micros(at timestamptz) RETURNS numeric LANGUAGE sql IMMUTABLE AS $$
  SELECT trunc(extract(epoch FROM at) * 1000000)
$$;

CREATE TABLE users (
  id            serial PRIMARY KEY,
  username      text COLLATE "C" NOT NULL UNIQUE,
  password_hash text NOT NULL,
  admin         boolean NOT NULL,
  active        boolean NOT NULL,
  display_name  text NOT NULL
);

CREATE TABLE sessions (
  token_hash text PRIMARY KEY,
  kind       text NOT NULL,
  user_id    int NOT NULL,
  expires_at timestamptz
);

CREATE TABLE properties (
  key   text PRIMARY KEY,
  value text NOT NULL
);

CREATE TABLE contexts (
  hash text PRIMARY KEY,
  tgz  bytea NOT NULL
);
-- The content is already compressed.
ALTER TABLE contexts ALTER COLUMN tgz SET STORAGE EXTERNAL;

CREATE TABLE experiments (
  id              int PRIMARY KEY,
  name            text COLLATE "C" NOT NULL,
  job             text NOT NULL,
  owner           int NOT NULL,
  request_id      text NOT NULL,
  config          json NOT NULL,
  original_config text NOT NULL,
  context_hash    text NOT NULL,
  state           text COLLATE "C" NOT NULL,
  reason          text NOT NULL,
  progress        double precision NOT NULL,
  best_metric     double precision,
  best_trial      int,
  created_at      timestamptz NOT NULL,
  ended_at        timestamptz
);
CREATE INDEX experiments_live ON experiments (id)
  WHERE state NOT IN ('COMPLETED', 'CANCELED', 'ERROR');

CREATE INDEX experiments_request ON experiments (request_id) WHERE request_id <> '';

CREATE TABLE searchers (
  experiment int PRIMARY KEY,
  sequence   bigint NOT NULL,
  snapshot   json NOT NULL
);

CREATE TABLE trials (
  id                int PRIMARY KEY,
  experiment        int NOT NULL,
  request           text NOT NULL,
  task              text NOT NULL,
  seed              bigint NOT NULL,
  hparams           json NOT NULL,
  state             text COLLATE "C" NOT NULL,
  end_as            text,
  reason            text NOT NULL,
  restarts          int NOT NULL,
  run_id            int NOT NULL,
  allocation        text,
  latest_checkpoint text,
  warm_start        text,
  steps_completed   bigint NOT NULL,
  progress          double precision NOT NULL,
  runner_state      text NOT NULL,
  best_metric       double precision,
  latest_metric     double precision,
  best_steps        bigint NOT NULL,
  created_at        timestamptz NOT NULL,
  ended_at          timestamptz
);
CREATE INDEX trials_experiment ON trials (experiment, id);

CREATE TABLE allocations (
  id                text COLLATE "C" PRIMARY KEY,
  task              text NOT NULL,
  trial             int NOT NULL,
  run_id            int NOT NULL,
  job               text NOT NULL,
  slots             int NOT NULL,
  submitted         bigint NOT NULL,
  state             text NOT NULL,
  shares            json NOT NULL,
  preemption_acked  boolean NOT NULL,
  preemption_reason text NOT NULL,
  deadline          timestamptz,
  reported          text NOT NULL,
  reported_message  text NOT NULL,
  exit_reason       text NOT NULL,
  exit_message      text NOT NULL,
  exit_code         int,
  queued_at         timestamptz NOT NULL,
  started_at        timestamptz,
  ended_at          timestamptz
);
CREATE INDEX allocations_task ON allocations (task, run_id);
CREATE INDEX allocations_submitted ON allocations (submitted);
CREATE INDEX allocations_live ON allocations (id) WHERE state <> 'TERMINATED';

-- For each step, the report of the newest attempt is displayed.
CREATE TABLE metrics (
  trial      int NOT NULL,
  group_name text COLLATE "C" NOT NULL,
  steps      bigint NOT NULL,
  run_id     int NOT NULL,
  time       timestamptz NOT NULL,
  metrics    json NOT NULL,
  batch      json,
  PRIMARY KEY (trial, group_name, steps, run_id)
);

CREATE TABLE checkpoints (
  id         text COLLATE "C" PRIMARY KEY,
  trial      int NOT NULL,
  allocation text NOT NULL,
  steps      bigint NOT NULL,
  resources  json NOT NULL,
  size       bigint NOT NULL,
  metadata   json NOT NULL,
  time       timestamptz NOT NULL
);
CREATE INDEX checkpoints_trial ON checkpoints (trial, time);

CREATE TABLE task_logs (
  id         bigserial PRIMARY KEY,
  task       text NOT NULL,
  allocation text NOT NULL,
  agent      text NOT NULL,
  sequence   bigint NOT NULL,
  time       timestamptz NOT NULL,
  rank       int,
  level      smallint NOT NULL,
  stdtype    text NOT NULL,
  source     text NOT NULL,
  text       text NOT NULL
);
CREATE INDEX task_logs_task ON task_logs (task, id);
CREATE UNIQUE INDEX task_logs_sequence ON task_logs (allocation, agent, sequence)
  WHERE sequence > 0;
