-- Agents that registered and were not lost since, so that a restarted master knows them before they
-- reconnect.
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

-- Agents on which the trial does not run again until they are enabled.
ALTER TABLE trials ADD COLUMN suspects json NOT NULL DEFAULT '[]';
