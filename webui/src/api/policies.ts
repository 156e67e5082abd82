import { api, unwrap } from "./client";

/** Whose policies for configurations: a workspace's; without one the cluster's. */
export interface PolicyScope {
  workspaceId?: number;
}

// This cluster runs no other workloads.
const workload_type = "EXPERIMENT";

/** The key of the policies' query. */
export const policiesKey = ({ workspaceId = 0 }: PolicyScope) => ["config-policies", workspaceId];

const toPathParams = (workspace_id: number) => ({
  params: { path: { workspace_id, workload_type } },
});
const everywhere = { params: { path: { workload_type } } };
const IN_WORKSPACE = "/api/v1/config-policies/workspaces/{workspace_id}/{workload_type}";
const GLOBAL = "/api/v1/config-policies/global/{workload_type}";

/** What is said of experiments; an object without members: nothing. */
export async function readPolicies({ workspaceId }: PolicyScope, signal: AbortSignal) {
  const { configPolicies } = await unwrap(
    workspaceId
      ? api.GET(IN_WORKSPACE, { ...toPathParams(workspaceId), signal })
      : api.GET(GLOBAL, { ...everywhere, signal }),
  );
  return configPolicies ?? {};
}

/** Puts a text, YAML or JSON, in the place of what is there; the master refuses it with all that is wrong. */
export function savePolicies({ workspaceId }: PolicyScope, configPolicies: string) {
  const body = { configPolicies };
  return workspaceId
    ? api.PUT(IN_WORKSPACE, { ...toPathParams(workspaceId), body })
    : api.PUT(GLOBAL, { ...everywhere, body });
}

export function removePolicies({ workspaceId }: PolicyScope) {
  return workspaceId
    ? api.DELETE(IN_WORKSPACE, toPathParams(workspaceId))
    : api.DELETE(GLOBAL, everywhere);
}
