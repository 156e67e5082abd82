-- The pool in which the slots were used; empty for experiments that were deleted before.
ALTER TABLE deleted_usage ADD COLUMN resource_pool text NOT NULL DEFAULT '';
