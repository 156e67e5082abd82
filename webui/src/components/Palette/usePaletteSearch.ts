import { useEffect, useState } from "react";
import { useQuery } from "@tanstack/react-query";
import { api, unwrap } from "@/api/client";
import { paths } from "@/paths";
import { parseId, type Entry } from "./entries";

const MAX_EXPERIMENTS = 8;
const MAX_OTHERS = 4;
const DELAY = 150; // ms without typing before a search

type Condition = Record<"kind" | "columnName" | "operator", string> & { value: string | number };

const where = (columnName: string, operator: string, value: string | number): Condition => ({
  kind: "field",
  columnName,
  operator,
  value,
});

function toBody(children: Condition[], limit: number) {
  const filterGroup = { kind: "group", conjunction: "or", children };
  return { filter: JSON.stringify({ showArchived: true, filterGroup }), sort: "id=desc", limit };
}

async function findExperiment(id: number, signal: AbortSignal): Promise<Entry[]> {
  const body = toBody([where("id", "=", id)], 1);
  const { experiments = [] } = await unwrap(
    api.POST("/api/v1/experiments-search", { body, signal }),
  );
  return experiments.map(({ experiment }) => toEntry(experiment));
}

async function findTrial(id: number, signal: AbortSignal): Promise<Entry[]> {
  const body = toBody([where("id", "=", id)], 1);
  const { runs = [] } = await unwrap(api.POST("/api/v1/runs", { body, signal }));
  return runs.map(({ experiment }) => ({
    to: paths.trial(id),
    label: `Trial ${id} of ${experiment?.id ?? 0} ${experiment?.name ?? ""}`,
    hint: "trial",
  }));
}

async function findExperiments(text: string, signal: AbortSignal): Promise<Entry[]> {
  const body = toBody([where("name", "contains", text)], MAX_EXPERIMENTS);
  const { experiments = [], pagination } = await unwrap(
    api.POST("/api/v1/experiments-search", { body, signal }),
  );
  const entries = experiments.map(({ experiment }) => toEntry(experiment));
  if ((pagination?.total ?? 0) > entries.length)
    entries.push({
      to: paths.findExperiments(text),
      label: `All experiments with "${text}"`,
      hint: "list",
    });
  return entries;
}

const toEntry = ({ id = 0, name = "" }: { id?: number; name?: string } = {}): Entry => ({
  to: paths.experiment(id),
  label: `${id} ${name}`,
  hint: "experiment",
});

function findByName(name: string, signal: AbortSignal): Promise<Entry[]>[] {
  const params = { query: { name, limit: MAX_OTHERS } };
  const path = { workspace_id: 0 };
  return [
    unwrap(api.GET("/api/v1/models", { params, signal })).then(({ models = [] }) =>
      models.map((model) => ({
        to: paths.model(model.name ?? ""),
        label: model.name ?? "",
        hint: "model",
      })),
    ),
    unwrap(api.GET("/api/v1/users", { params, signal })).then(({ users = [] }) =>
      users.map(({ id = 0, username = "", displayName }) => ({
        to: paths.user(id),
        label: displayName && displayName !== username ? `${username} (${displayName})` : username,
        hint: "user",
      })),
    ),
    unwrap(api.GET("/api/v1/workspaces", { params, signal })).then(({ workspaces = [] }) =>
      workspaces.map(({ id = 0, name = "" }) => ({
        to: paths.workspace(id),
        label: name,
        hint: "workspace",
      })),
    ),
    unwrap(
      api.GET("/api/v1/workspaces/{workspace_id}/projects", {
        params: { path, ...params },
        signal,
      }),
    ).then(({ projects = [] }) =>
      projects.map(({ id = 0, name = "", workspaceName = "" }) => ({
        to: paths.project(id),
        label: `${workspaceName} / ${name}`,
        hint: "project",
      })),
    ),
  ];
}

interface Found {
  entries: Entry[];
  /** The first error; the other entries are found nevertheless. */
  error?: unknown;
}

async function find(text: string, signal: AbortSignal): Promise<Found> {
  const id = parseId(text);
  const calls = [
    ...(id?.kind === "trial" || !id ? [] : [findExperiment(id.id, signal)]),
    ...(id?.kind === "experiment" || !id ? [] : [findTrial(id.id, signal)]),
    findExperiments(text, signal),
    ...findByName(text, signal),
  ];
  const results = await Promise.allSettled(calls);
  signal.throwIfAborted();
  const failed = results.find((each) => each.status === "rejected");
  return {
    entries: results.flatMap((each) => (each.status === "fulfilled" ? each.value : [])),
    ...(failed && { error: failed.reason as unknown }),
  };
}

/** What the master finds for the query, once the user pauses. */
export function usePaletteSearch(query: string) {
  const text = query.trim();
  const [searched, setSearched] = useState("");
  useEffect(() => {
    const timer = setTimeout(() => setSearched(text), text === "" ? 0 : DELAY);
    return () => clearTimeout(timer);
  }, [text]);
  const { data, isFetching } = useQuery({
    queryKey: ["palette", searched],
    queryFn: ({ signal }) => find(searched, signal),
    enabled: searched !== "" && searched === text,
    staleTime: 5_000,
    retry: false,
  });
  const isCurrent = searched === text;
  return {
    entries: isCurrent ? (data?.entries ?? []) : [],
    error: isCurrent ? data?.error : undefined,
    isSearching: text !== "" && (!isCurrent || (isFetching && !data)),
  };
}
