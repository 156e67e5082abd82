-- Named partial configurations with which experiment configurations are merged.
CREATE TABLE templates (
  name text COLLATE "C" PRIMARY KEY,
  yaml text NOT NULL
);
