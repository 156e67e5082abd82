-- The workspace of an allocation's experiment when the allocation started, so that usage stays with
-- the workspace after the experiment has moved. Null for allocations that started before.
ALTER TABLE allocations ADD COLUMN workspace int;
-- 0 and empty for experiments that were deleted before.
ALTER TABLE deleted_usage ADD COLUMN experiment int NOT NULL DEFAULT 0,
  ADD COLUMN allocation text NOT NULL DEFAULT '';
