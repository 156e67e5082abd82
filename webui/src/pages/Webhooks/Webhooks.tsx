import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { api, unwrap } from "@/api/client";
import { explainRefusal, usePermissions } from "@/api/usePermissions";
import { useWorkspaces, workspaceName } from "@/api/useWorkspaces";
import { Actions } from "@/components/Actions/Actions";
import { EmptyState } from "@/components/EmptyState/EmptyState";
import { Count, hasText, SearchBox } from "@/components/Page/Filters";
import { Page } from "@/components/Page/Page";
import { useDialog, useParam } from "@/components/Page/useParam";
import { ListTable, type ListColumn } from "@/components/table/ListTable";
import { paths } from "@/paths";
import { getHost, describeTrigger, type Webhook } from "@/triggers";
import { formatCount } from "@/text";
import { Create } from "./Create";

/** The webhooks: URLs that are notified of events. */
export default function Webhooks() {
  const refused = explainRefusal(usePermissions(), "EDIT_WEBHOOKS");
  const { data: workspaces } = useWorkspaces();
  const [query] = useParam("q");
  const [dialog, setDialog] = useDialog();
  const read = useQuery({
    queryKey: ["webhooks"],
    queryFn: async ({ signal }) =>
      (await unwrap(api.GET("/api/v1/webhooks", { signal }))).webhooks ?? [],
  });
  const shown = read.data?.filter(({ name, url }) => hasText(query, name, getHost(url)));
  const getWorkspaceName = ({ workspaceId }: Webhook) =>
    workspaceId ? workspaceName(workspaces, workspaceId) : "all workspaces";
  const columns: ListColumn<Webhook>[] = [
    {
      head: "Name",
      minWidth: 140,
      cell: ({ id = 0, name }) => <Link to={paths.webhook(id)}>{name || `webhook ${id}`}</Link>,
      sortBy: ({ name }) => name,
    },
    { head: "Host", cell: ({ url }) => getHost(url), sortBy: ({ url }) => getHost(url) },
    {
      head: "Triggers",
      share: 2,
      minWidth: 200,
      cell: ({ triggers }) => triggers?.map(describeTrigger).join("; ") || "none",
    },
    { head: "Workspace", cell: getWorkspaceName, sortBy: getWorkspaceName },
    {
      head: "Applies to",
      cell: ({ mode }) =>
        mode === "WEBHOOK_MODE_SPECIFIC" ? "experiments that name it" : "all experiments",
    },
    {
      head: "Format",
      minWidth: 80,
      share: 0.5,
      cell: ({ webhookType }) => (webhookType === "WEBHOOK_TYPE_SLACK" ? "Slack" : "JSON"),
    },
  ];
  return (
    <Page
      title="Webhooks"
      error={read.error}
      onRetry={() => void read.refetch()}
      head={
        <>
          <SearchBox label="Search webhooks" />
          <Count>{shown && formatCount(shown.length, "webhook")}</Count>
          <Actions
            actions={[
              {
                label: "New webhook",
                isPrimary: true,
                refused,
                run: () => setDialog("create"),
              },
            ]}
          />
        </>
      }
    >
      <ListTable<Webhook>
        label="Webhooks"
        columns={columns}
        rows={shown}
        getId={({ id = 0 }) => id}
      >
        <EmptyState
          {...(!query && {
            command: "det webhook create NAME https://example.org/hook --state COMPLETED",
          })}
        >
          {query
            ? "No webhooks match the search."
            : "No webhooks yet. A webhook notifies a chat or a program when an experiment ends, fails or reports a metric."}
        </EmptyState>
      </ListTable>
      {dialog === "create" && !refused && workspaces && (
        <Create workspaces={workspaces} onClose={() => setDialog("")} />
      )}
    </Page>
  );
}
