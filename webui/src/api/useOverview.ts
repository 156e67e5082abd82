import type { Message } from "./types";
import { useStream, useStreamed, type StreamState } from "./useStream";

export type Overview = Message["GetOverviewResponse"];

const key = ["overview"];

/** Follows the cluster's load and running experiments. Only Frame calls it. */
export function useOverviewStream(): StreamState {
  return useStream("/api/v1/overview?follow=true", key);
}

/** The latest overview; undefined before the first. */
export function useOverview(): Overview | undefined {
  return useStreamed<Overview>(key);
}
