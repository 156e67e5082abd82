import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "react-router";
import { api, unwrap } from "@/api/client";
import type { Message } from "@/api/types";
import { explainRefusal, usePermissions } from "@/api/usePermissions";
import { useWorkspaces, workspaceName, type Workspace } from "@/api/useWorkspaces";
import { Actions } from "@/components/Actions/Actions";
import { EmptyState } from "@/components/EmptyState/EmptyState";
import { FormDialog } from "@/components/FormDialog/FormDialog";
import { Count, hasText, SearchBox } from "@/components/Page/Filters";
import { Page } from "@/components/Page/Page";
import { useDialog, useParam } from "@/components/Page/useParam";
import { ListTable, type ListColumn } from "@/components/table/ListTable";
import { paths } from "@/paths";
import { formatCount } from "@/text";

type Template = Message["Template"];

const columnsWith = (workspaces: Workspace[] | undefined): ListColumn<Template>[] => [
  {
    head: "Name",
    minWidth: 160,
    cell: ({ name = "" }) => <Link to={paths.template(name)}>{name}</Link>,
    sortBy: ({ name }) => name,
  },
  {
    head: "Workspace",
    cell: ({ workspaceId }) => workspaceName(workspaces, workspaceId),
    sortBy: ({ workspaceId }) => workspaceName(workspaces, workspaceId),
  },
  {
    head: "Sets",
    share: 3,
    minWidth: 240,
    cell: ({ config }) => Object.keys(config ?? {}).join(", ") || "nothing yet",
  },
];

/** The templates: partial configurations that experiments share. */
export default function Templates() {
  const permissions = usePermissions();
  const { may } = permissions;
  const refused = explainRefusal(permissions, "CREATE_TEMPLATES");
  const { data: workspaces } = useWorkspaces();
  const [query] = useParam("q");
  const [dialog, setDialog] = useDialog();
  const client = useQueryClient();
  const read = useQuery({
    queryKey: ["templates"],
    queryFn: async ({ signal }) => {
      const params = { query: { limit: -1 } }; // all
      return (await unwrap(api.GET("/api/v1/templates", { params, signal }))).templates ?? [];
    },
  });
  const workspaceOptions = (workspaces ?? [])
    .filter(({ id, archived }) => !archived && may("CREATE_TEMPLATES", id))
    .map(({ id, name = "" }) => [String(id), name] as const);
  const shown = read.data?.filter(({ name }) => hasText(query, name));
  return (
    <Page
      title="Templates"
      error={read.error}
      onRetry={() => void read.refetch()}
      head={
        <>
          <SearchBox label="Search templates" />
          <Count>{shown && formatCount(shown.length, "template")}</Count>
          <Actions
            actions={[
              {
                label: "New template",
                isPrimary: true,
                run: () => setDialog("create"),
                refused,
              },
            ]}
          />
        </>
      }
    >
      <ListTable<Template>
        label="Templates"
        columns={columnsWith(workspaces)}
        rows={shown}
        getId={({ name = "" }) => name}
      >
        <EmptyState {...(!query && { command: "det template create NAME template.yaml" })}>
          {query
            ? "No templates match the search."
            : "No templates yet. Use one with det experiment create --template NAME. Workspace editors can change it."}
        </EmptyState>
      </ListTable>
      {dialog === "create" && !refused && workspaces && (
        <FormDialog
          title="New template"
          verb="Create"
          onClose={() => setDialog("")}
          fields={[
            {
              name: "name",
              label: "Name",
              required: true,
              pattern: "[\\w.\\-]{1,128}",
              hint: "Letters, digits, -, _ and .",
            },
            {
              name: "workspace",
              label: "Workspace",
              type: "choice",
              options: workspaceOptions,
              value: workspaceOptions[0]?.[0],
              hint: "Workspace editors can change it",
            },
          ]}
          onSubmit={async ({ name = "", workspace }) => {
            await api.POST("/api/v1/templates/{template_name}", {
              params: { path: { template_name: name } },
              body: {
                name,
                workspaceId: Number(workspace),
                yaml: "# Configuration fields that experiments share.\n",
              },
            });
            await client.invalidateQueries({ queryKey: ["templates"] });
            return paths.template(name);
          }}
        />
      )}
    </Page>
  );
}
