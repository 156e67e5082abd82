import { useEffect, useMemo, useRef } from "react";
import { useQueryClient } from "@tanstack/react-query";
import { buildQuery } from "./messages";
import { applyReported, liveQueryFilter, type ReportedPoint } from "./liveQueries";
import type { Experiment, Message } from "./types";
import { createRefresher } from "./useRefresh";
import { useMessages, type StreamState } from "./useStream";

/** What the stream of an experiment says. */
export interface ExperimentUpdate {
  experiment?: Experiment;
  trial?: Message["Trial"];
  points?: ReportedPoint[];
  /** Where to go on after a lost connection. */
  position?: string;
  /** Not all that was reported is told: it is to be read again. */
  missed?: boolean;
}

// Where more is reported than is told, every page reads again: not more often than this.
const PAUSE = 5000; // ms

/**
 * Follows an experiment, and a trial of it: what is reported goes to the live queries, the rest to `onUpdate`,
 * which says whether the reported is to be read again where that was missed. After a lost connection it goes on
 * where it was.
 */
export function useExperimentStream(
  experimentId: number,
  trialId: number | undefined,
  onUpdate: (news: ExperimentUpdate) => boolean,
): StreamState {
  const client = useQueryClient();
  const place = useRef({ experimentId, position: "" });
  if (place.current.experimentId !== experimentId) place.current = { experimentId, position: "" };
  const [atOnce, later] = useMemo(() => {
    const what = liveQueryFilter(experimentId);
    // A read that was under way when the stream began may be older than it: then once more.
    return [0, PAUSE * (0.5 + Math.random())].map((pause) => createRefresher(client, what, pause));
  }, [client, experimentId]);
  useEffect(
    () => () => {
      atOnce?.stop();
      later?.stop();
    },
    [atOnce, later],
  );
  const query = buildQuery({ points: true, trialId });
  return useMessages<ExperimentUpdate>(
    `/api/v1/experiments/${experimentId}/watch?${query}`,
    (news) => {
      const isFirst = place.current.position === "";
      if (news.position) place.current.position = news.position;
      if (news.points) applyReported(client, experimentId, news.points);
      const isRead = onUpdate(news);
      if (!news.missed || !isRead) return;
      if (isFirst) atOnce?.news();
      else later?.news();
    },
    () => place.current.position,
  );
}
