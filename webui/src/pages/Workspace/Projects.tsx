import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "react-router";
import { api, unwrap } from "@/api/client";
import type { Message } from "@/api/types";
import { explainRefusal, usePermissions } from "@/api/usePermissions";
import type { Workspace } from "@/api/useWorkspaces";
import { Actions } from "@/components/Actions/Actions";
import { EmptyState } from "@/components/EmptyState/EmptyState";
import { ErrorPanel } from "@/components/ErrorPanel/ErrorPanel";
import { FormDialog } from "@/components/FormDialog/FormDialog";
import { ParamCheck } from "@/components/Page/Filters";
import { Labels, Section } from "@/components/Page/Page";
import { useDialog, useParam } from "@/components/Page/useParam";
import { ListTable, type ListColumn } from "@/components/table/ListTable";
import { Time } from "@/components/Time/Time";
import { paths } from "@/paths";
import { quote } from "@/text";

type Project = Message["Project"];

const columns: ListColumn<Project>[] = [
  {
    head: "Name",
    share: 2,
    minWidth: 160,
    cell: ({ id = 0, name, archived }) => (
      <>
        <Link to={paths.project(id)}>{name}</Link> <Labels labels={archived ? ["archived"] : []} />
      </>
    ),
    sortBy: ({ name }) => name,
  },
  { head: "Key", share: 0.5, minWidth: 72, cell: ({ key }) => <code>{key}</code> },
  { head: "Description", share: 2, cell: ({ description }) => description },
  {
    head: "Experiments",
    isNumber: true,
    cell: ({ id = 0, numExperiments = 0 }) => (
      <Link to={paths.projectExperiments(id)}>{numExperiments}</Link>
    ),
    sortBy: ({ numExperiments = 0 }) => numExperiments,
  },
  {
    head: "Active",
    isNumber: true,
    minWidth: 80,
    cell: ({ numActiveExperiments = 0 }) => numActiveExperiments,
    sortBy: ({ numActiveExperiments = 0 }) => numActiveExperiments,
  },
  {
    head: "Last started",
    cell: ({ lastExperimentStartedAt }) => <Time at={lastExperimentStartedAt} />,
    sortBy: ({ lastExperimentStartedAt }) => lastExperimentStartedAt,
  },
  { head: "Owner", cell: ({ username }) => username },
];

/** The projects of a workspace. */
export function Projects({ workspace }: { workspace: Workspace }) {
  const { id = 0, name = "" } = workspace;
  const permissions = usePermissions();
  const [archived] = useParam("archived");
  const [dialog, setDialog] = useDialog();
  const read = useQuery({
    queryKey: ["workspaces", id, "projects"],
    queryFn: async ({ signal }) => {
      const call = api.GET("/api/v1/workspaces/{workspace_id}/projects", {
        params: { path: { workspace_id: id } },
        signal,
      });
      return (await unwrap(call)).projects ?? [];
    },
  });
  const shown = read.data?.filter((each) => archived === "yes" || !each.archived);
  const refused =
    explainRefusal(permissions, "CREATE_PROJECT", { workspaceId: id, workspaceName: name }) ||
    (workspace.archived && "The workspace is archived; unarchive it first");
  return (
    <Section
      title="Projects"
      head={
        <>
          <ParamCheck name="archived" label="Show archived" />
          <Actions
            actions={[
              {
                label: "New project",
                isPrimary: true,
                refused,
                run: () => setDialog("project"),
              },
            ]}
          />
        </>
      }
    >
      {read.error ? (
        <ErrorPanel error={read.error} onRetry={() => void read.refetch()} />
      ) : (
        <ListTable<Project>
          label={`Projects of ${name}`}
          columns={columns}
          rows={shown}
          getId={(each) => each.id ?? 0}
          isShort
        >
          <EmptyState command={`det project create ${quote(name)} NAME`}>
            No projects yet. A project groups related experiments.
          </EmptyState>
        </ListTable>
      )}
      {dialog === "project" && !refused && <Create id={id} onClose={() => setDialog("")} />}
    </Section>
  );
}

function Create({ id, onClose }: { id: number; onClose: () => void }) {
  const client = useQueryClient();
  return (
    <FormDialog
      title="New project"
      verb="Create"
      onClose={onClose}
      fields={[
        { name: "name", label: "Name", required: true },
        { name: "description", label: "Description" },
        {
          name: "key",
          label: "Key",
          pattern: "[A-Za-z0-9]{0,5}",
          hint: "Up to five letters and digits; prefix of the project's trial IDs. Empty: derived from the name",
        },
      ]}
      onSubmit={async ({ name = "", description = "", key = "" }) => {
        const { project } = await unwrap(
          api.POST("/api/v1/workspaces/{workspace_id}/projects", {
            params: { path: { workspace_id: id } },
            body: { name: name.trim(), description, key },
          }),
        );
        await client.invalidateQueries({ queryKey: ["workspaces"] });
        return paths.project(project?.id ?? 0);
      }}
    />
  );
}
