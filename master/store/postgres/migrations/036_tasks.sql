-- Tasks that are not trials. They are kept after their end, and so are their allocations.
CREATE TABLE tasks (
  id            text COLLATE "C" PRIMARY KEY,
  kind          text NOT NULL,
  owner         int NOT NULL,
  owner_name    text NOT NULL,
  workspace     int NOT NULL,
  project       int,
  parent        text COLLATE "C",
  forked_from   text COLLATE "C",
  pausable      boolean NOT NULL,
  definition    json NOT NULL,
  description   text COLLATE "C" NOT NULL
    GENERATED ALWAYS AS (coalesce(definition ->> 'description', '')) STORED,
  context_hash  text NOT NULL
    GENERATED ALWAYS AS (coalesce(definition ->> 'context_hash', '')) STORED,
  resource_pool text NOT NULL,
  priority      int NOT NULL,
  weight        double precision NOT NULL,
  position      double precision NOT NULL,
  position_set  boolean NOT NULL,
  max_slots     int,
  state         text NOT NULL,
  end_as        text,
  reason        text NOT NULL,
  run_id        int NOT NULL,
  allocation    text,
  service_port  int,
  run_time      bigint NOT NULL,  -- microseconds
  created_at    timestamptz NOT NULL,
  ended_at      timestamptz
);
CREATE INDEX tasks_live ON tasks (id) WHERE state NOT IN ('COMPLETED', 'CANCELED', 'ERROR');
CREATE INDEX tasks_kind ON tasks (kind, created_at);
CREATE INDEX tasks_ended ON tasks (ended_at);
CREATE INDEX tasks_parent ON tasks (parent) WHERE parent IS NOT NULL;
