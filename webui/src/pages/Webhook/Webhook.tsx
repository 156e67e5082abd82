import { useState } from "react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "react-router";
import { api, unwrap } from "@/api/client";
import { usePermissions } from "@/api/usePermissions";
import { useWorkspaces, workspaceName } from "@/api/useWorkspaces";
import { Actions } from "@/components/Actions/Actions";
import { CopyText } from "@/components/CopyText/CopyText";
import { useCrumbs } from "@/components/Frame/useCrumbs";
import { Facts, Page, Section } from "@/components/Page/Page";
import { useDialog } from "@/components/Page/useParam";
import { paths } from "@/paths";
import { getHost, describeTrigger, type Webhook as WebhookData } from "@/triggers";
import { explain } from "@/components/Triggers/drafts";
import { Deliveries } from "./Deliveries";
import { Edit } from "./Edit";
import styles from "./Webhook.module.css";

/** A webhook: properties, triggers and deliveries. */
export default function Webhook() {
  const id = Number(useParams()["id"]);
  const read = useQuery({
    queryKey: ["webhooks", id],
    queryFn: async ({ signal }) => {
      const call = api.GET("/api/v1/webhooks/{id}", { params: { path: { id } }, signal });
      return (await unwrap(call)).webhook ?? {};
    },
  });
  const name = read.data?.name || `Webhook ${id}`;
  useCrumbs([{ label: "Webhooks", to: paths.webhooks }, { label: name }]);
  if (!read.data)
    return <Page title={name} error={read.error} onRetry={() => void read.refetch()} />;
  return <WebhookDetails webhook={read.data} name={name} />;
}

function WebhookDetails({ webhook, name }: { webhook: WebhookData; name: string }) {
  const { id = 0, url = "", workspaceId = 0, mode, webhookType, triggers } = webhook;
  const client = useQueryClient();
  const navigate = useNavigate();
  const { may } = usePermissions();
  const { data: workspaces } = useWorkspaces();
  const [dialog, setDialog] = useDialog();
  const [message, setMessage] = useState("");
  const params = { params: { path: { id } } };
  const mayChange = may("EDIT_WEBHOOKS", workspaceId || undefined);
  return (
    <Page
      title={name}
      id={id}
      head={
        mayChange && (
          <Actions
            actions={[
              {
                label: "Test",
                isPrimary: true,
                run: async () => {
                  setMessage("");
                  await api.POST("/api/v1/webhooks/{id}/test", params);
                  setMessage(`Test event delivered to ${getHost(url)}.`);
                },
              },
              { label: "Edit", run: () => setDialog("edit") },
              {
                label: "Delete",
                confirm: `Delete the webhook ${name}? Pending deliveries are dropped.`,
                run: async () => {
                  await api.DELETE("/api/v1/webhooks/{id}", params);
                  await navigate(paths.webhooks);
                  client.removeQueries({ queryKey: ["webhooks", id] });
                  await client.invalidateQueries({ queryKey: ["webhooks"] });
                },
              },
            ]}
          />
        )
      }
    >
      <p role="status">{message}</p>
      <Facts
        facts={[
          ["URL", <CopyText key="" text={url} />],
          [
            "Workspace",
            workspaceId ? (
              <Link to={paths.workspace(workspaceId)}>
                {workspaceName(workspaces, workspaceId)}
              </Link>
            ) : (
              "all workspaces"
            ),
          ],
          [
            "Applies to",
            mode === "WEBHOOK_MODE_SPECIFIC"
              ? `experiments that set integrations.webhooks.webhook_id: [${id}]`
              : workspaceId
                ? "all experiments in this workspace"
                : "all experiments",
          ],
          ["Format", webhookType === "WEBHOOK_TYPE_SLACK" ? "Slack message" : "signed JSON"],
        ]}
      />
      <Section title="Triggers">
        <ul className={styles.triggers}>
          {triggers?.map((trigger) => (
            <li key={trigger.id}>
              {describeTrigger(trigger)} <span className={styles.says}>{explain(trigger)}</span>
            </li>
          ))}
        </ul>
      </Section>
      <Deliveries id={id} />
      {dialog === "edit" && mayChange && (
        <Edit webhook={webhook} name={name} onClose={() => setDialog("")} />
      )}
    </Page>
  );
}
