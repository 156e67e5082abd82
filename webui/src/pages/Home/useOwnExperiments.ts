import { useEffect } from "react";
import { useQuery } from "@tanstack/react-query";
import { api, unwrap } from "@/api/client";
import type { Experiment, ExperimentState } from "@/api/types";
import type { Overview } from "@/api/useOverview";
import { useRefresh } from "@/api/useRefresh";

// The overview names no more, the newest of all users (master/api/cluster/overview_board.cc).
const NAMED = 50;
const RENEWAL = 5000; // ms

const STATES: ExperimentState[] = [
  "STATE_ACTIVE",
  "STATE_PAUSED",
  "STATE_STOPPING_COMPLETED",
  "STATE_STOPPING_CANCELED",
  "STATE_STOPPING_ERROR",
];

/**
 * The user's running and queued experiments; undefined until loaded. If the overview may be incomplete, they
 * are read separately, and again when it changes.
 */
export function useOwnExperiments(overview: Overview | undefined, userId: number | undefined) {
  const { running = [] } = overview ?? {};
  const isIncomplete = running.length >= NAMED;
  const queryKey = ["home", "mine", userId];
  const { data, error } = useQuery({
    queryKey,
    enabled: isIncomplete && userId !== undefined,
    queryFn: async ({ signal }): Promise<Experiment[]> => {
      const query = {
        userIds: [userId ?? 0],
        states: STATES,
        limit: NAMED,
        sortBy: "SORT_BY_ID" as const,
        orderBy: "ORDER_BY_DESC" as const,
      };
      const call = api.GET("/api/v1/experiments", { params: { query }, signal });
      return (await unwrap(call)).experiments ?? [];
    },
  });
  const refresh = useRefresh({ queryKey }, RENEWAL);
  useEffect(() => {
    if (isIncomplete) refresh();
  }, [isIncomplete, overview, refresh]);
  const named = running.filter((each) => each.userId === userId);
  return isIncomplete ? { mine: data, error } : { mine: named, error: null };
}
