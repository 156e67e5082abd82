-- Webhooks, their triggers and their deliveries.
CREATE TABLE webhooks (
  id        serial PRIMARY KEY,
  workspace int REFERENCES workspaces ON DELETE CASCADE,  -- NULL: all workspaces
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

-- The trials for which a trigger on metrics or logs has fired.
CREATE TABLE webhook_fired (
  trial   int NOT NULL,
  -- deleted only with its webhook
  trigger int NOT NULL REFERENCES webhook_triggers ON DELETE CASCADE,
  PRIMARY KEY (trial, trigger)
);
CREATE INDEX webhook_fired_trigger ON webhook_fired (trigger);

-- Configuration policies: configuration that a workspace or the cluster enforces.
CREATE TABLE config_policies (
  workspace int REFERENCES workspaces ON DELETE CASCADE,  -- NULL: the cluster
  workload  text NOT NULL,
  policies  json NOT NULL
);
CREATE UNIQUE INDEX config_policies_of ON config_policies (coalesce(workspace, 0), workload);
