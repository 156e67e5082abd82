import { useQueryClient } from "@tanstack/react-query";
import { Link } from "react-router";
import { api, unwrap } from "@/api/client";
import { explainRefusal, usePermissions } from "@/api/usePermissions";
import { useWorkspaces, type Workspace } from "@/api/useWorkspaces";
import { Actions } from "@/components/Actions/Actions";
import { EmptyState } from "@/components/EmptyState/EmptyState";
import { FormDialog } from "@/components/FormDialog/FormDialog";
import { Count, hasText, ParamCheck, SearchBox } from "@/components/Page/Filters";
import { Labels, Page } from "@/components/Page/Page";
import { useDialog, useParam } from "@/components/Page/useParam";
import { ListTable, type ListColumn } from "@/components/table/ListTable";
import { paths } from "@/paths";
import { formatCount } from "@/text";

const columns: ListColumn<Workspace>[] = [
  {
    head: "Name",
    share: 3,
    minWidth: 180,
    cell: ({ id = 0, name, archived, pinned }) => (
      <>
        <Link to={paths.workspace(id)}>{name}</Link>{" "}
        <Labels labels={[...(pinned ? ["pinned"] : []), ...(archived ? ["archived"] : [])]} />
      </>
    ),
    sortBy: ({ name }) => name,
  },
  {
    head: "Projects",
    isNumber: true,
    minWidth: 88,
    cell: ({ numProjects = 0 }) => numProjects,
    sortBy: ({ numProjects = 0 }) => numProjects,
  },
  {
    head: "Experiments",
    isNumber: true,
    cell: ({ numExperiments = 0 }) => numExperiments,
    sortBy: ({ numExperiments = 0 }) => numExperiments,
  },
  { head: "Owner", cell: ({ username }) => username, sortBy: ({ username }) => username },
  { head: "Default pool", cell: ({ defaultComputePool }) => defaultComputePool || "–" },
];

/** The workspaces. */
export default function Workspaces() {
  const refused = explainRefusal(usePermissions(), "CREATE_WORKSPACE");
  const [query] = useParam("q");
  const [archived] = useParam("archived");
  const [dialog, setDialog] = useDialog();
  const { data, error, refetch } = useWorkspaces();
  const shown = data
    ?.filter((each) => (archived === "yes" || !each.archived) && hasText(query, each.name))
    .sort((a, b) => Number(b.pinned ?? false) - Number(a.pinned ?? false));
  return (
    <Page
      title="Workspaces"
      error={error}
      onRetry={() => void refetch()}
      head={
        <>
          <SearchBox label="Search workspaces" />
          <ParamCheck name="archived" label="Show archived" />
          <Count>{shown && formatCount(shown.length, "workspace")}</Count>
          <Actions
            actions={[
              {
                label: "New workspace",
                isPrimary: true,
                run: () => setDialog("create"),
                refused,
              },
            ]}
          />
        </>
      }
    >
      <ListTable<Workspace>
        label="Workspaces"
        columns={columns}
        rows={shown}
        getId={({ id = 0 }) => id}
      >
        <EmptyState {...(!query && { command: "det workspace create NAME" })}>
          {query
            ? "No workspaces match the search."
            : "You are not a member of any workspace. Create one or ask an administrator for a role."}
        </EmptyState>
      </ListTable>
      {dialog === "create" && !refused && <Create onClose={() => setDialog("")} />}
    </Page>
  );
}

function Create({ onClose }: { onClose: () => void }) {
  const client = useQueryClient();
  return (
    <FormDialog
      title="New workspace"
      verb="Create"
      onClose={onClose}
      fields={[
        { name: "name", label: "Name", required: true },
        {
          name: "pool",
          label: "Default pool",
          hint: "For experiments that do not set resources.resource_pool",
        },
      ]}
      onSubmit={async ({ name = "", pool = "" }) => {
        const { workspace } = await unwrap(
          api.POST("/api/v1/workspaces", {
            body: { name: name.trim(), defaultComputePool: pool.trim() },
          }),
        );
        // The creator becomes its administrator.
        await client.invalidateQueries({ queryKey: ["roles"] });
        await client.invalidateQueries({ queryKey: ["workspaces"] });
        return paths.workspace(workspace?.id ?? 0);
      }}
    />
  );
}
