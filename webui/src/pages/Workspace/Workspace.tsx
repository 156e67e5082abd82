import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useParams } from "react-router";
import { api, unwrap } from "@/api/client";
import { usePermissions } from "@/api/usePermissions";
import type { Workspace as WorkspaceData } from "@/api/useWorkspaces";
import { Actions } from "@/components/Actions/Actions";
import { FormDialog } from "@/components/FormDialog/FormDialog";
import { useCrumbs } from "@/components/Frame/useCrumbs";
import { Labels, Page } from "@/components/Page/Page";
import { useDialog } from "@/components/Page/useParam";
import { Policies } from "@/components/Policies/Policies";
import { Tabs } from "@/components/Tabs/Tabs";
import { paths } from "@/paths";
import { formatCount } from "@/text";
import { Members } from "./Members";
import { Pools } from "./Pools";
import { Projects } from "./Projects";

const TABS: [
  name: string,
  label: string,
  Content: React.ComponentType<{ workspace: WorkspaceData }>,
][] = [
  ["", "Projects", Projects],
  ["members", "Members", Members],
  ["pools", "Pools and quota", Pools],
  ["policies", "Policies", OwnPolicies],
];

/** A workspace: projects, members, pools, policies. */
export default function Workspace() {
  const { id: text = "", tab = "" } = useParams();
  const read = useQuery({
    queryKey: ["workspaces", Number(text)],
    queryFn: async ({ signal }) => {
      const path = { id: Number(text) };
      const call = api.GET("/api/v1/workspaces/{id}", { params: { path }, signal });
      return (await unwrap(call)).workspace ?? {};
    },
  });
  const name = read.data?.name ?? `Workspace ${text}`;
  useCrumbs([{ label: "Workspaces", to: paths.workspaces }, { label: name }]);
  const [dialog, setDialog] = useDialog();
  const { may } = usePermissions();
  const workspace = read.data;
  if (!workspace)
    return <Page title={name} error={read.error} onRetry={() => void read.refetch()} />;
  const { id = 0, archived } = workspace;
  const [, , Content] = TABS.find(([each]) => each === tab) ?? ["", "", Projects];
  return (
    <Page
      title={name}
      id={id}
      head={
        <>
          <Labels labels={archived ? ["archived"] : []} />
          <WorkspaceActions workspace={workspace} onEdit={() => setDialog("edit")} />
        </>
      }
    >
      <Tabs
        label="Workspace sections"
        tabs={TABS.map(([each, label]) => ({
          name: each,
          label,
          count: each === "" ? workspace.numProjects : undefined,
        }))}
        to={(each) => paths.workspace(id, each)}
      />
      <Content workspace={workspace} />
      {dialog === "edit" && may("UPDATE_WORKSPACE", id) && (
        <Edit workspace={workspace} onClose={() => setDialog("")} />
      )}
    </Page>
  );
}

function OwnPolicies({ workspace: { id = 0, name = "" } }: { workspace: WorkspaceData }) {
  const { may } = usePermissions();
  return (
    <Policies
      scope={{ workspaceId: id }}
      of={name}
      mayChange={may("MODIFY_WORKSPACE_CONFIG_POLICIES", id)}
    />
  );
}

function WorkspaceActions({ workspace, onEdit }: { workspace: WorkspaceData; onEdit: () => void }) {
  const { id = 0, name = "", archived, pinned, immutable, numProjects = 0 } = workspace;
  const client = useQueryClient();
  const navigate = useNavigate();
  const { may } = usePermissions();
  const params = { params: { path: { id } } };
  const refresh = () => client.invalidateQueries({ queryKey: ["workspaces"] });
  const mayChange = may("UPDATE_WORKSPACE", id);
  const refused = immutable && "Built-in workspace; it cannot be changed";
  return (
    <Actions
      actions={[
        pinned
          ? {
              label: "Unpin",
              run: () => api.POST("/api/v1/workspaces/{id}/unpin", params).then(refresh),
            }
          : {
              label: "Pin",
              run: () => api.POST("/api/v1/workspaces/{id}/pin", params).then(refresh),
            },
        mayChange && { label: "Edit", run: onEdit, refused },
        mayChange &&
          (archived
            ? {
                label: "Unarchive",
                refused,
                run: () => api.POST("/api/v1/workspaces/{id}/unarchive", params).then(refresh),
              }
            : {
                label: "Archive",
                refused,
                confirm: `Archive ${name}? Experiments cannot be submitted to it until it is unarchived.`,
                run: () => api.POST("/api/v1/workspaces/{id}/archive", params).then(refresh),
              }),
        may("DELETE_WORKSPACE", id) && {
          label: "Delete",
          refused,
          confirm: `Delete the workspace ${name} and its ${formatCount(numProjects, "project")} with all experiments and their checkpoints? Its models must be deleted first.`,
          run: async () => {
            await api.DELETE("/api/v1/workspaces/{id}", params);
            await navigate(paths.workspaces);
            await refresh();
          },
        },
      ]}
    />
  );
}

function Edit({ workspace, onClose }: { workspace: WorkspaceData; onClose: () => void }) {
  const client = useQueryClient();
  return (
    <FormDialog
      title={`Edit ${workspace.name ?? ""}`}
      verb="Save"
      onClose={onClose}
      fields={[
        { name: "name", label: "Name", required: true, value: workspace.name },
        {
          name: "pool",
          label: "Default pool",
          value: workspace.defaultComputePool,
          hint: "For experiments that do not set resources.resource_pool",
        },
        {
          name: "aux",
          label: "Default pool for zero-slot tasks",
          value: workspace.defaultAuxPool,
          hint: "For tasks that request no slots",
        },
      ]}
      onSubmit={async (_, { name, pool, aux }) => {
        await api.PATCH("/api/v1/workspaces/{id}", {
          params: { path: { id: workspace.id ?? 0 } },
          body: {
            // Send the name only if it changed: the master refuses to rename a workspace that a quota names.
            ...(name?.trim() !== workspace.name && { name: name?.trim() }),
            defaultComputePool: pool?.trim(),
            defaultAuxPool: aux?.trim(),
          },
        });
        await client.invalidateQueries({ queryKey: ["workspaces"] });
      }}
    />
  );
}
