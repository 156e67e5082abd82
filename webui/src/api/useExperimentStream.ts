import { useEffect, useMemo, useRef } from "react";
import { useQueryClient } from "@tanstack/react-query";
import { buildQuery } from "./messages";
import { applyReported, liveQueryFilter, type ReportedPoint } from "./liveQueries";
import type { Experiment, Message } from "./types";
import { createRefresher } from "./useRefresh";
import { useMessages, type StreamState } from "./useStream";

/** A message of an experiment's stream. */
export interface ExperimentUpdate {
  experiment?: Experiment;
  trial?: Message["Trial"];
  points?: ReportedPoint[];
  /** The position to resume from after a lost connection. */
  position?: string;
  /** Some reports were left out of the stream: they must be read again. */
  missed?: boolean;
}

// When the stream leaves out reports, every page reads them again: at most this often.
const PAUSE = 5000; // ms

/**
 * Follows an experiment and optionally one of its trials. Reported points go to the live queries, the rest to
 * `onUpdate`, which returns whether left-out reports must be read again. Resumes after a lost connection.
 */
export function useExperimentStream(
  experimentId: number,
  trialId: number | undefined,
  onUpdate: (news: ExperimentUpdate) => boolean,
): StreamState {
  const client = useQueryClient();
  const position = useRef("");
  // Before useMessages' effect, which follows the new experiment from its start.
  useEffect(() => {
    position.current = "";
  }, [experimentId]);
  const [atOnce, later] = useMemo(() => {
    const what = liveQueryFilter(experimentId);
    // A read that started before the stream may be older than its first message: read again at
    // once.
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
      const isFirst = position.current === "";
      if (news.position) position.current = news.position;
      if (news.points) applyReported(client, experimentId, news.points);
      const isRead = onUpdate(news);
      if (!news.missed || !isRead) return;
      if (isFirst) atOnce?.news();
      else later?.news();
    },
    () => position.current,
  );
}
