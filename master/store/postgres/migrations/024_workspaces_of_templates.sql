-- A template belongs to a workspace, whose Editors change it. Those of before: to Uncategorized.
ALTER TABLE templates ADD COLUMN workspace int NOT NULL DEFAULT 1;
