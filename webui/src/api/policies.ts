import { api, unwrap } from "./client";

/** The scope of config policies: a workspace, or the cluster if there is none. */
export interface PolicyScope {
  workspaceId?: number;
}

// The only workload type with policies.
const workload_type = "EXPERIMENT";

/** The query key of the policies. */
export const policiesKey = ({ workspaceId = 0 }: PolicyScope) => ["config-policies", workspaceId];

const toPathParams = (workspace_id: number) => ({
  params: { path: { workspace_id, workload_type } },
});
const everywhere = { params: { path: { workload_type } } };
const IN_WORKSPACE = "/api/v1/config-policies/workspaces/{workspace_id}/{workload_type}";
const GLOBAL = "/api/v1/config-policies/global/{workload_type}";

/** Reads the policies for experiments; an empty object if there are none. */
export async function readPolicies({ workspaceId }: PolicyScope, signal: AbortSignal) {
  const { configPolicies } = await unwrap(
    workspaceId
      ? api.GET(IN_WORKSPACE, { ...toPathParams(workspaceId), signal })
      : api.GET(GLOBAL, { ...everywhere, signal }),
  );
  return configPolicies ?? {};
}

/**
 * Replaces the policies by a YAML or JSON text. The master refuses an invalid text and lists all
 * problems.
 */
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
