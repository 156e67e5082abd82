-- The function of 016 without a sort: the least pair of value and steps in an interval is its first lowest
-- point. Steps are exact as double precision up to 2^53.
CREATE OR REPLACE FUNCTION curve_steps(of_trial int, of_group text, of_metric text, from_steps bigint,
  to_steps bigint, stretches int) RETURNS SETOF bigint LANGUAGE sql STABLE AS $$
  WITH here AS MATERIALIZED (
    SELECT p.place, p.low, p.low_steps, p.high, p.high_steps
    FROM metric_summaries s JOIN metric_peaks p
      ON p.trial = s.trial AND p.group_name = s.group_name AND p.metric = s.metric
    WHERE s.trial = of_trial AND s.group_name = of_group AND s.metric = of_metric AND s.portion > 0
      AND p.place BETWEEN from_steps / s.portion AND to_steps / s.portion),
  whole AS (SELECT min(place) AS low, max(place) - min(place) + 1 AS size FROM here),
  ends AS (
    SELECT min(ARRAY[h.low, h.low_steps]) AS low, min(ARRAY[-h.high, h.high_steps]) AS high
    FROM here h CROSS JOIN whole w GROUP BY (h.place - w.low) * stretches / w.size)
  -- A portion at the edge may have its lowest or highest value outside of the requested steps.
  SELECT steps FROM (SELECT unnest(ARRAY[low[2]::bigint, high[2]::bigint]) AS steps FROM ends) p
  WHERE steps BETWEEN from_steps AND to_steps
  UNION
  SELECT steps FROM ((SELECT m.steps FROM metrics m WHERE m.trial = of_trial
      AND m.group_name = of_group AND m.steps BETWEEN from_steps AND to_steps ORDER BY m.steps LIMIT 1)
    UNION ALL (SELECT m.steps FROM metrics m WHERE m.trial = of_trial
      AND m.group_name = of_group AND m.steps BETWEEN from_steps AND to_steps ORDER BY m.steps DESC LIMIT 1)) e
$$;
