-- Users, their roles, workspaces and projects.

ALTER TABLE users
  ADD COLUMN remote       boolean NOT NULL DEFAULT false,
  ADD COLUMN agent_user   json,
  ADD COLUMN modified_at  timestamptz NOT NULL DEFAULT now(),
  ADD COLUMN last_auth_at timestamptz;
CREATE UNIQUE INDEX users_name ON users (lower(username));
-- Until now the hash was of the password itself, from now on it is of the client's hash of it. New
-- passwords are set at the next start (auth/bootstrap.h).
UPDATE users SET password_hash = '';

CREATE TABLE user_settings (
  user_id      int NOT NULL,
  storage_path text COLLATE "C" NOT NULL,
  key          text COLLATE "C" NOT NULL,
  value        text NOT NULL,
  PRIMARY KEY (user_id, storage_path, key)
);

ALTER TABLE sessions
  ADD COLUMN id           serial UNIQUE,
  ADD COLUMN description  text NOT NULL DEFAULT '',
  ADD COLUMN role_limit   text NOT NULL DEFAULT '',  -- maximum role; empty: the user's roles
  ADD COLUMN created_at   timestamptz NOT NULL DEFAULT now(),
  ADD COLUMN last_used_at timestamptz,
  ADD COLUMN revoked      boolean NOT NULL DEFAULT false;
CREATE INDEX sessions_user ON sessions (user_id);

-- Workspace 0: the cluster.
CREATE TABLE role_assignments (
  user_id   int NOT NULL,
  workspace int NOT NULL,
  role      text NOT NULL,
  PRIMARY KEY (user_id, workspace, role)
);
CREATE INDEX role_assignments_workspace ON role_assignments (workspace);
-- Until now, every user could work in every workspace.
INSERT INTO role_assignments (user_id, workspace, role)
  SELECT id, 0, 'Editor' FROM users WHERE NOT admin;

CREATE TABLE workspaces (
  id                   serial PRIMARY KEY,
  name                 text COLLATE "C" NOT NULL UNIQUE,
  owner                int NOT NULL,
  archived             boolean NOT NULL DEFAULT false,
  immutable            boolean NOT NULL DEFAULT false,
  state                text NOT NULL DEFAULT '',
  error                text NOT NULL DEFAULT '',
  agent_user           json,
  checkpoint_storage   json,
  default_compute_pool text NOT NULL DEFAULT '',
  default_aux_pool     text NOT NULL DEFAULT ''
);
CREATE TABLE workspace_pins (
  user_id   int NOT NULL,
  workspace int NOT NULL,
  pinned_at timestamptz NOT NULL,
  PRIMARY KEY (user_id, workspace)
);

CREATE TABLE projects (
  id          serial PRIMARY KEY,
  workspace   int NOT NULL,
  name        text COLLATE "C" NOT NULL,
  key         text COLLATE "C" NOT NULL UNIQUE,
  description text NOT NULL DEFAULT '',
  notes       json NOT NULL DEFAULT '[]',
  owner       int NOT NULL,
  archived    boolean NOT NULL DEFAULT false,
  immutable   boolean NOT NULL DEFAULT false,
  state       text NOT NULL DEFAULT '',
  error       text NOT NULL DEFAULT '',
  UNIQUE (workspace, name)
);
CREATE TABLE project_visits (
  user_id int NOT NULL,
  project int NOT NULL,
  at      timestamptz NOT NULL,
  PRIMARY KEY (user_id, project)
);

-- The owner is created after the tables: the first user, who is the administrator.
INSERT INTO workspaces (name, owner, immutable) VALUES ('Uncategorized', 1, true);
INSERT INTO projects (workspace, name, key, owner, immutable)
  VALUES (1, 'Uncategorized', 'UNCAT', 1, true);

-- Until now, workspaces and projects were names in configurations. Each name that was used becomes
-- a row.
INSERT INTO workspaces (name, owner)
  SELECT DISTINCT config ->> 'workspace', 1 FROM experiments
  WHERE coalesce(config ->> 'workspace', '') <> ''
  ON CONFLICT (name) DO NOTHING;
INSERT INTO projects (workspace, name, key, owner)
  SELECT w.id, n.name, 'P' || (row_number() OVER (ORDER BY w.id, n.name)), 1
  FROM (SELECT DISTINCT coalesce(nullif(config ->> 'workspace', ''), 'Uncategorized') AS workspace,
               config ->> 'project' AS name
        FROM experiments WHERE coalesce(config ->> 'project', '') <> '') n
  JOIN workspaces w ON w.name = n.workspace
  ON CONFLICT (workspace, name) DO NOTHING;
INSERT INTO projects (workspace, name, key, owner)
  SELECT w.id, 'Uncategorized', 'W' || w.id, 1 FROM workspaces w WHERE w.id <> 1
  ON CONFLICT (workspace, name) DO NOTHING;
ALTER TABLE experiments ADD COLUMN project int NOT NULL DEFAULT 1;
UPDATE experiments e SET project = p.id
  FROM projects p JOIN workspaces w ON w.id = p.workspace
  WHERE w.name = coalesce(nullif(e.config ->> 'workspace', ''), 'Uncategorized')
    AND p.name = coalesce(nullif(e.config ->> 'project', ''), 'Uncategorized')
    AND p.id <> 1;
CREATE INDEX experiments_project ON experiments (project, id);

-- Names and texts that users can change; they apply instead of those in the configuration.
ALTER TABLE experiments
  ADD COLUMN description text NOT NULL DEFAULT '',
  ADD COLUMN labels      jsonb NOT NULL DEFAULT '[]',
  ADD COLUMN notes       text NOT NULL DEFAULT '';
UPDATE experiments SET description = coalesce(config ->> 'description', ''),
  labels = CASE WHEN json_typeof(config -> 'labels') = 'array' THEN (config -> 'labels')::jsonb
                ELSE '[]' END;

-- Audit records: who changed what. Rows are never changed.
CREATE TABLE audit (
  id         bigserial PRIMARY KEY,
  at         timestamptz NOT NULL,
  user_id    int,           -- NULL: an agent or a task
  caller     text NOT NULL,  -- the user's name, "agent" or the allocation
  peer       text NOT NULL,
  method     text NOT NULL,
  target     text NOT NULL,  -- the resource that the request named: "experiment 7"
  request_id text NOT NULL,
  code       text NOT NULL   -- OK, or the error code
);
CREATE INDEX audit_user ON audit (user_id, id);
