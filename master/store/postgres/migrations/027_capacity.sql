-- The number of slots that an agent offers to a pool from a time on; 0: the agent was lost. Earlier
-- capacity is not known.
CREATE TABLE capacity (
  agent         text COLLATE "C" NOT NULL,
  resource_pool text NOT NULL,
  slots         int NOT NULL,
  at            timestamptz NOT NULL,
  PRIMARY KEY (agent, at)
);
INSERT INTO capacity
SELECT id, resource_pool, json_array_length(slots), registered_at FROM agents;
