import { useEffect, useMemo, useRef } from "react";
import { useQueryClient } from "@tanstack/react-query";
import { queryOf } from "./lines";
import { addReported, liveQueries, type ReportedPoint } from "./reported";
import type { Experiment, Message } from "./types";
import { createRenewal } from "./useRenewal";
import { useMessages, type StreamState } from "./useStream";

/** What the stream of an experiment says. */
export interface News {
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
 * Follows an experiment, and a trial of it: what is reported goes to the live queries, the rest to `onNews`,
 * which says whether the reported is to be read again where that was missed. After a lost connection it goes on
 * where it was.
 */
export function useNews(
  experimentId: number,
  trialId: number | undefined,
  onNews: (news: News) => boolean,
): StreamState {
  const client = useQueryClient();
  const place = useRef({ experimentId, position: "" });
  if (place.current.experimentId !== experimentId) place.current = { experimentId, position: "" };
  const [atOnce, later] = useMemo(() => {
    const what = liveQueries(experimentId);
    // A read that was under way when the stream began may be older than it: then once more.
    return [0, PAUSE * (0.5 + Math.random())].map((pause) => createRenewal(client, what, pause));
  }, [client, experimentId]);
  useEffect(
    () => () => {
      atOnce?.stop();
      later?.stop();
    },
    [atOnce, later],
  );
  const query = queryOf({ points: true, trialId });
  return useMessages<News>(
    `/api/v1/experiments/${experimentId}/watch?${query}`,
    (news) => {
      const isFirst = place.current.position === "";
      if (news.position) place.current.position = news.position;
      if (news.points) addReported(client, experimentId, news.points);
      const isRead = onNews(news);
      if (!news.missed || !isRead) return;
      if (isFirst) atOnce?.news();
      else later?.news();
    },
    () => place.current.position,
  );
}
