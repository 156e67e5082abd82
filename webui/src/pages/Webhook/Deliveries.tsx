import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { api, unwrap } from "@/api/client";
import type { Message } from "@/api/types";
import { Actions } from "@/components/Actions/Actions";
import { CopyText } from "@/components/CopyText/CopyText";
import { EmptyState } from "@/components/EmptyState/EmptyState";
import { ErrorPanel } from "@/components/ErrorPanel/ErrorPanel";
import { Section } from "@/components/Page/Page";
import { State } from "@/components/State/State";
import { ListTable, type ListColumn } from "@/components/table/ListTable";
import { Time } from "@/components/Time/Time";
import { paths } from "@/paths";

type Delivery = Message["WebhookDelivery"];

const WHAT: Partial<Record<Message["TriggerType"], string>> = {
  TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE: "state",
  TRIGGER_TYPE_METRIC_THRESHOLD_EXCEEDED: "metric",
  TRIGGER_TYPE_TASK_LOG: "log line",
  TRIGGER_TYPE_CUSTOM: "custom",
};

/** The experiment of a delivery, if there is one. */
export function getExperiment({ eventData }: Delivery): { id: number; name: string } | undefined {
  const { experiment } = (eventData ?? {}) as { experiment?: { id?: number; name?: string } };
  return experiment?.id ? { id: experiment.id, name: experiment.name ?? "" } : undefined;
}

const columns: ListColumn<Delivery>[] = [
  { head: "State", cell: ({ state }) => <State state={state} />, sortBy: ({ state }) => state },
  {
    head: "Experiment",
    cell: (delivery) => {
      const experiment = getExperiment(delivery);
      return experiment ? (
        <Link to={paths.experiment(experiment.id)}>
          {experiment.id} {experiment.name}
        </Link>
      ) : (
        "–"
      );
    },
  },
  {
    head: "Trigger",
    minWidth: 80,
    share: 0.6,
    cell: ({ triggerType = "TRIGGER_TYPE_UNSPECIFIED" }) => WHAT[triggerType] ?? "–",
  },
  {
    head: "Event time",
    cell: ({ raisedAt }) => <Time at={raisedAt} />,
    sortBy: ({ raisedAt }) => raisedAt,
  },
  {
    head: "Attempts",
    isNumber: true,
    minWidth: 80,
    share: 0.5,
    cell: ({ attempts = 0 }) => attempts,
    sortBy: ({ attempts = 0 }) => attempts,
  },
  {
    head: "Next or end",
    minWidth: 120,
    cell: ({ nextAt, endedAt }) => <Time at={endedAt ?? nextAt} />,
  },
  {
    head: "Error",
    share: 2,
    minWidth: 160,
    cell: ({ error }) => (error ? <span title={error}>{error}</span> : "–"),
  },
  {
    head: "Event ID",
    minWidth: 128,
    cell: ({ eventId = "" }) => <CopyText text={eventId} label={eventId.slice(0, 8)} />,
  },
];

/** The recent and pending deliveries of a webhook. */
export function Deliveries({ id }: { id: number }) {
  const read = useQuery({
    queryKey: ["webhooks", id, "deliveries"],
    queryFn: async ({ signal }) => {
      const call = api.GET("/api/v1/webhooks/{id}/deliveries", {
        params: { path: { id } },
        signal,
      });
      return (await unwrap(call)).deliveries ?? [];
    },
  });
  return (
    <Section
      title="Deliveries"
      head={<Actions actions={[{ label: "Refresh", run: () => read.refetch() }]} />}
    >
      {read.error ? (
        <ErrorPanel error={read.error} onRetry={() => void read.refetch()} />
      ) : (
        <ListTable<Delivery>
          label="Deliveries"
          columns={columns}
          rows={read.data}
          getId={({ id: each = "" }) => each}
          isShort
        >
          <EmptyState>No deliveries in the last 7 days. Use Test to send one.</EmptyState>
        </ListTable>
      )}
    </Section>
  );
}
