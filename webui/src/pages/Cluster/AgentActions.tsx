import type { Message } from "@/api/types";
import { RequestId } from "@/components/ErrorPanel/RequestId";
import styles from "./Cluster.module.css";
import { useAgentAction } from "./useCluster";

type Agent = Message["Agent"];

interface Props {
  /** "agent node-1", "slot 2 of node-1". */
  what: string;
  agentId: string;
  slotId?: string;
  isIn: boolean;
  isUsed: boolean;
}

function Actions({ what, agentId, slotId, isIn, isUsed }: Props) {
  const { mutate, isPending, error } = useAgentAction(agentId, slotId);
  const stop = () =>
    (!isUsed || confirm(`Disable ${what}? Its running trials are stopped and queued again.`)) &&
    mutate("disable");
  const verbs: [label: string, act: () => void][] = isIn
    ? [
        ["Drain", () => mutate("drain")],
        ["Disable", stop],
      ]
    : [["Enable", () => mutate("enable")]];
  return (
    <div className={styles.actions} role="toolbar" aria-label={`Actions for ${what}`}>
      {verbs.map(([label, act]) => (
        <button key={label} type="button" className="plain" disabled={isPending} onClick={act}>
          {label}
          <span className="visually-hidden"> {what}</span>
        </button>
      ))}
      {error && (
        <span role="alert">
          {error.message} <RequestId error={error} />
        </span>
      )}
    </div>
  );
}

/** Drains, disables or enables an agent. Draining lets running trials finish. */
export function AgentActions({ agent }: { agent: Agent }) {
  const isUsed = Object.values(agent.slots ?? {}).some((slot) => slot.container?.id);
  const isIn = Boolean(agent.enabled && !agent.draining);
  return <Actions what={agent.id ?? ""} agentId={agent.id ?? ""} isIn={isIn} isUsed={isUsed} />;
}

/** Drains, disables or enables a slot; enabling ends its quarantine. */
export function SlotActions({ agent, slot }: { agent: Agent; slot: Message["Slot"] }) {
  return (
    <Actions
      what={`slot ${slot.id ?? ""} of ${agent.id ?? ""}`}
      agentId={agent.id ?? ""}
      slotId={slot.id ?? ""}
      isIn={Boolean(slot.enabled && !slot.draining && !slot.quarantined)}
      isUsed={Boolean(slot.container?.id)}
    />
  );
}
