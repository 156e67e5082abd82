-- Groups of users: a role of a group applies to all its members.
CREATE TABLE groups (
  id   serial PRIMARY KEY,
  name text COLLATE "C" NOT NULL UNIQUE
);
CREATE TABLE group_members (
  group_id int NOT NULL,
  user_id  int NOT NULL,
  PRIMARY KEY (group_id, user_id)
);
CREATE INDEX group_members_user ON group_members (user_id);

-- The roles of groups; workspace 0 is the cluster.
CREATE TABLE group_roles (
  group_id  int NOT NULL,
  workspace int NOT NULL,
  role      text NOT NULL,
  PRIMARY KEY (group_id, workspace, role)
);
CREATE INDEX group_roles_workspace ON group_roles (workspace);

-- Roles that administrators created, as sets of permissions. Assignments name them by their id.
CREATE TABLE created_roles (
  id          int PRIMARY KEY,
  name        text COLLATE "C" NOT NULL UNIQUE,
  permissions text[] NOT NULL
);
CREATE SEQUENCE created_role_ids START 100;
