-- Agents that registered and were not lost since: known to a restarted master before they return.
CREATE TABLE agents (
  id             text COLLATE "C" PRIMARY KEY,
  version        text NOT NULL,
  address        text NOT NULL,
  resource_pool  text NOT NULL,
  slots          json NOT NULL,
  cpus           double precision,
  memory         bigint,  -- bytes
  network_switch text NOT NULL,
  labels         json NOT NULL,
  registered_at  timestamptz NOT NULL
);

-- Agents on which a trial does not run again until somebody enables them.
ALTER TABLE trials ADD COLUMN suspects json NOT NULL DEFAULT '[]';
