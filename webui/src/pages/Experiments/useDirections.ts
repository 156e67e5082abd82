import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { api, unwrap } from "@/api/client";
import { getExperimentId, isSmallerBetter, type Directions } from "./heat";
import type { Row } from "./rows";

const NONE: Directions = new Map();

/** Whether smaller values are better in the experiments of these trials, whose rows do not tell. */
export function useDirections(rows: readonly Row[], isWanted: boolean): Directions {
  const trials = isWanted ? rows.filter(({ kind }) => kind === "runs") : [];
  const ids = [...new Set(trials.map((row) => getExperimentId(row) ?? 0))].sort((a, b) => a - b);
  const { data } = useQuery({
    queryKey: ["experiments", "directions", ids],
    enabled: ids.length > 0,
    staleTime: Infinity, // an experiment's searcher does not change
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }) => {
      const children = ids.map((value) => ({
        kind: "field",
        columnName: "id",
        operator: "=",
        value,
      }));
      const filterGroup = { kind: "group", conjunction: "or", children };
      const filter = JSON.stringify({ showArchived: true, filterGroup });
      const body = { filter, limit: ids.length };
      const { experiments = [] } = await unwrap(
        api.POST("/api/v1/experiments-search", { body, signal }),
      );
      return new Map(
        experiments.flatMap(({ experiment: { id = 0, config } = {} }) => {
          const isSmaller = isSmallerBetter(config);
          return isSmaller === undefined ? [] : [[id, isSmaller] as const];
        }),
      );
    },
  });
  return data ?? NONE;
}
