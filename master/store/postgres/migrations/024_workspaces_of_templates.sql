-- The workspace whose Editors may change the template. Existing templates are moved to
-- Uncategorized.
ALTER TABLE templates ADD COLUMN workspace int NOT NULL DEFAULT 1;
