-- Webhooks, and what they are to be told.
CREATE TABLE webhooks (
  id        serial PRIMARY KEY,
  workspace int REFERENCES workspaces ON DELETE CASCADE,  -- NULL: of all
  name      text COLLATE "C" NOT NULL,
  url       text NOT NULL,
  type      text NOT NULL,
  mode      text NOT NULL
);
CREATE UNIQUE INDEX webhooks_name ON webhooks (coalesce(workspace, 0), name);

CREATE TABLE webhook_triggers (
  id        serial PRIMARY KEY,
  webhook   int NOT NULL REFERENCES webhooks ON DELETE CASCADE,
  type      text NOT NULL,
  condition jsonb NOT NULL
);
CREATE INDEX webhook_triggers_webhook ON webhook_triggers (webhook);

CREATE TABLE webhook_deliveries (
  id        bigserial PRIMARY KEY,
  webhook   int NOT NULL REFERENCES webhooks ON DELETE CASCADE,
  event_id  text NOT NULL,
  trigger   text NOT NULL,
  condition jsonb NOT NULL,
  data      json NOT NULL,
  raised_at timestamptz NOT NULL,
  state     text NOT NULL DEFAULT 'PENDING',
  attempts  int NOT NULL DEFAULT 0,
  next_at   timestamptz NOT NULL,
  ended_at  timestamptz,
  error     text NOT NULL DEFAULT ''
);
CREATE INDEX webhook_deliveries_webhook ON webhook_deliveries (webhook, id);
CREATE INDEX webhook_deliveries_pending ON webhook_deliveries (next_at) WHERE state = 'PENDING';
CREATE INDEX webhook_deliveries_ended ON webhook_deliveries (ended_at) WHERE state <> 'PENDING';

-- Of which trial a trigger on metrics or logs has told already.
CREATE TABLE webhook_fired (
  trial   int NOT NULL,
  trigger int NOT NULL REFERENCES webhook_triggers ON DELETE CASCADE,  -- goes with its webhook alone
  PRIMARY KEY (trial, trigger)
);
CREATE INDEX webhook_fired_trigger ON webhook_fired (trigger);

-- What those who configure experiments may not decide for themselves.
CREATE TABLE config_policies (
  workspace int REFERENCES workspaces ON DELETE CASCADE,  -- NULL: of the cluster
  workload  text NOT NULL,
  policies  json NOT NULL
);
CREATE UNIQUE INDEX config_policies_of ON config_policies (coalesce(workspace, 0), workload);
