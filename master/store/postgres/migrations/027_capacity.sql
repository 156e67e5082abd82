-- From a time on an agent offers so many slots to a pool; 0: it is gone. What there was before is not known.
CREATE TABLE capacity (
  agent         text COLLATE "C" NOT NULL,
  resource_pool text NOT NULL,
  slots         int NOT NULL,
  at            timestamptz NOT NULL,
  PRIMARY KEY (agent, at)
);
INSERT INTO capacity
SELECT id, resource_pool, json_array_length(slots), registered_at FROM agents;
