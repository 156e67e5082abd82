import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "react-router";
import { api, unwrap } from "@/api/client";
import type { Message } from "@/api/types";
import { explainRefusal, usePermissions } from "@/api/usePermissions";
import { useWorkspaces, workspaceName } from "@/api/useWorkspaces";
import { Actions } from "@/components/Actions/Actions";
import { EmptyState } from "@/components/EmptyState/EmptyState";
import { FormDialog } from "@/components/FormDialog/FormDialog";
import { Count, hasText, ParamCheck, SearchBox } from "@/components/Page/Filters";
import { Labels, Page } from "@/components/Page/Page";
import { useDialog, useParam } from "@/components/Page/useParam";
import { ListTable, type ListColumn } from "@/components/table/ListTable";
import { Time } from "@/components/Time/Time";
import { paths } from "@/paths";
import { formatCount, parseList } from "@/text";

type Model = Message["Model"];

/** The model registry. */
export default function Models() {
  const refused = explainRefusal(usePermissions(), "CREATE_MODEL_REGISTRY");
  const [query] = useParam("q");
  const [archived] = useParam("archived");
  const [dialog, setDialog] = useDialog();
  const { data: workspaces } = useWorkspaces();
  const models = useQuery({
    queryKey: ["models"],
    queryFn: async ({ signal }) =>
      (await unwrap(api.GET("/api/v1/models", { signal }))).models ?? [],
  });
  const shown = models.data?.filter(
    (model) =>
      (archived === "yes" || !model.archived) &&
      hasText(query, model.name, model.description, ...(model.labels ?? [])),
  );
  const columns: ListColumn<Model>[] = [
    {
      head: "Name",
      share: 2,
      minWidth: 160,
      cell: ({ name = "" }) => <Link to={paths.model(name)}>{name}</Link>,
      sortBy: ({ name }) => name,
    },
    { head: "Description", share: 2, cell: (model) => model.description },
    { head: "Labels", share: 1, cell: ({ labels }) => <Labels labels={labels} /> },
    {
      head: "Versions",
      isNumber: true,
      share: 0.5,
      minWidth: 80,
      cell: ({ numVersions = 0 }) => numVersions,
      sortBy: ({ numVersions = 0 }) => numVersions,
    },
    {
      head: "Workspace",
      cell: ({ workspaceId }) => workspaceName(workspaces, workspaceId),
      sortBy: ({ workspaceId }) => workspaceName(workspaces, workspaceId),
    },
    { head: "Owner", cell: ({ username }) => username, sortBy: ({ username }) => username },
    {
      head: "Last modified",
      cell: ({ archived: isArchived, lastUpdatedTime }) => (
        <>
          <Time at={lastUpdatedTime} />
          {isArchived && " · archived"}
        </>
      ),
      sortBy: ({ lastUpdatedTime }) => lastUpdatedTime,
    },
  ];
  return (
    <Page
      title="Models"
      error={models.error}
      onRetry={() => void models.refetch()}
      head={
        <>
          <SearchBox label="Search models" />
          <ParamCheck name="archived" label="Show archived" />
          <Count>{shown && formatCount(shown.length, "model")}</Count>
          <Actions
            actions={[
              {
                label: "New model",
                isPrimary: true,
                run: () => setDialog("create"),
                refused,
              },
            ]}
          />
        </>
      }
    >
      <ListTable<Model> label="Models" columns={columns} rows={shown} getId={({ id = 0 }) => id}>
        <EmptyState {...(!query && { command: 'det model create NAME --description "…"' })}>
          {query
            ? "No models match the search."
            : "No models yet. A registered model is a named list of checkpoints with versions."}
        </EmptyState>
      </ListTable>
      {dialog === "create" && !refused && workspaces && (
        <Create workspaces={workspaces} onClose={() => setDialog("")} />
      )}
    </Page>
  );
}

function Create({
  workspaces,
  onClose,
}: {
  workspaces: Message["Workspace"][];
  onClose: () => void;
}) {
  const client = useQueryClient();
  const { may } = usePermissions();
  const options = workspaces
    .filter(({ id, archived }) => !archived && may("CREATE_MODEL_REGISTRY", id))
    .map(({ id, name = "" }) => [String(id), name] as const);
  return (
    <FormDialog
      title="New model"
      verb="Create"
      onClose={onClose}
      fields={[
        { name: "name", label: "Name", required: true, hint: "Unique among all models" },
        { name: "description", label: "Description" },
        { name: "labels", label: "Labels", hint: "Comma-separated" },
        {
          name: "workspace",
          label: "Workspace",
          type: "choice",
          options,
          value: options[0]?.[0],
        },
      ]}
      onSubmit={async ({ name = "", description = "", labels, workspace }) => {
        const { model } = await unwrap(
          api.POST("/api/v1/models", {
            body: {
              name: name.trim(),
              description,
              workspaceId: Number(workspace),
              labels: parseList(labels),
            },
          }),
        );
        await client.invalidateQueries({ queryKey: ["models"] });
        return paths.model(model?.name ?? name);
      }}
    />
  );
}
