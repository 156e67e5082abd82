-- Parts of a configuration that experiments share.
CREATE TABLE templates (
  name text COLLATE "C" PRIMARY KEY,
  yaml text NOT NULL
);
