import type { Message } from "./types";
import { useStream, useStreamed, type StreamState } from "./useStream";

export type Overview = Message["GetOverviewResponse"];

const key = ["overview"];

/** Follows the cluster's load and what runs; by Frame alone, once for all that is shown. */
export function useOverviewStream(): StreamState {
  return useStream("/api/v1/overview?follow=true", key);
}

/** The newest of it; undefined before there is one. */
export function useOverview(): Overview | undefined {
  return useStreamed<Overview>(key);
}
