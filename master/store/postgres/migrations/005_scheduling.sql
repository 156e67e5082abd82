-- Scheduling: pools, places in the queue, quotas, agents out of service.

-- The administrative state of an agent, set by users or the master.
CREATE TABLE agent_states (
  id          text COLLATE "C" PRIMARY KEY,
  enabled     boolean NOT NULL,
  draining    boolean NOT NULL,
  slots       json NOT NULL,
  maintenance json NOT NULL
);

-- Pools that were defined at run time; the others are defined in the configuration file.
CREATE TABLE resource_pools (
  name              text COLLATE "C" PRIMARY KEY,
  description       text NOT NULL,
  policy            text NOT NULL,
  fitting           text NOT NULL,
  preemption        boolean NOT NULL,
  heterogeneous     boolean NOT NULL,
  backfill          boolean NOT NULL,
  hold_after        bigint NOT NULL,  -- microseconds
  default_priority  int NOT NULL,
  max_aux_per_agent int NOT NULL,
  shared_devices    boolean NOT NULL,
  maintenance_lead  bigint NOT NULL,  -- microseconds
  workspaces        json NOT NULL
);
CREATE TABLE default_pools (
  one     boolean PRIMARY KEY DEFAULT true CHECK (one),
  compute text,
  aux     text
);

CREATE TABLE quotas (
  scope      text COLLATE "C" NOT NULL,
  name       text COLLATE "C" NOT NULL,
  max_slots  double precision,
  slot_hours double precision,
  PRIMARY KEY (scope, name)
);

-- The place of an experiment in the queue: initially as its configuration requests, in the order of
-- creation.
ALTER TABLE experiments
  ADD COLUMN owner_name    text NOT NULL DEFAULT '',
  ADD COLUMN resource_pool text NOT NULL DEFAULT 'default',
  ADD COLUMN priority      int NOT NULL DEFAULT 42,
  ADD COLUMN weight        double precision NOT NULL DEFAULT 1,
  ADD COLUMN position      double precision NOT NULL DEFAULT 0,
  ADD COLUMN position_set  boolean NOT NULL DEFAULT false,  -- set by a user
  ADD COLUMN max_slots     int;
UPDATE experiments SET
  owner_name    = coalesce((SELECT u.username FROM users u WHERE u.id = owner), ''),
  resource_pool = coalesce(nullif(config #>> '{resources,resource_pool}', ''), 'default'),
  priority      = coalesce((config #>> '{resources,priority}')::int, 42),
  weight        = coalesce((config #>> '{resources,weight}')::double precision, 1),
  position      = id,
  max_slots     = (config #>> '{resources,max_slots}')::int;

ALTER TABLE trials
  ADD COLUMN blocked    json NOT NULL DEFAULT '[]',
  ADD COLUMN run_time   bigint NOT NULL DEFAULT 0,  -- microseconds
  ADD COLUMN no_restart text NOT NULL DEFAULT '';
UPDATE trials t SET run_time = r.total FROM (
  SELECT trial, sum(extract(epoch FROM ended_at - started_at) * 1000000)::bigint AS total
  FROM allocations WHERE isfinite(started_at) AND isfinite(ended_at) AND ended_at >= started_at
  GROUP BY trial) r
WHERE r.trial = t.id;

ALTER TABLE allocations
  ADD COLUMN resource_pool text NOT NULL DEFAULT 'default',
  ADD COLUMN max_slots     int NOT NULL DEFAULT 0,
  ADD COLUMN fraction      double precision NOT NULL DEFAULT 1,
  ADD COLUMN granted       int NOT NULL DEFAULT 0,
  ADD COLUMN saved_at      timestamptz;
UPDATE allocations SET granted = slots WHERE started_at IS NOT NULL;
UPDATE allocations a SET resource_pool = e.resource_pool
FROM experiments e WHERE e.job = a.job AND e.resource_pool <> 'default';
CREATE INDEX allocations_ended ON allocations (ended_at);
