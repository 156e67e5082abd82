import type { Message } from "@/api/types";
import { EmptyState } from "@/components/EmptyState/EmptyState";
import styles from "./Cluster.module.css";

type Agent = Message["Agent"];
type Slot = Message["Slot"];

type Kind = "used" | "free" | "off";

function kindOf(agent: Agent, slot: Slot): Kind {
  if (slot.container?.id) return "used";
  return agent.enabled && slot.enabled && !slot.draining ? "free" : "off";
}

const marks: Record<Kind, string> = { used: "●", free: "", off: "✕" };

function describe(kind: Kind, slot: Slot): string {
  const what = `slot ${slot.id ?? ""}${slot.device?.brand ? `, ${slot.device.brand}` : ""}`;
  if (kind === "used") return `${what}: ${slot.container?.id ?? ""}`;
  return `${what}: ${kind === "free" ? "free" : slot.reason || "takes no work"}`;
}

function AgentCard({ agent }: { agent: Agent }) {
  const slots = Object.values(agent.slots ?? {});
  const kinds = slots.map((slot) => kindOf(agent, slot));
  const used = kinds.filter((kind) => kind === "used").length;
  const state = !agent.connected ? "away" : agent.enabled ? "" : "disabled";
  return (
    <li className={styles.agent}>
      <div className={styles.agentHead}>
        <h3>{agent.id}</h3>
        <span>{[agent.resourcePools?.join(", "), state].filter(Boolean).join(" · ")}</span>
        <span className="number">
          {used} / {slots.length}
        </span>
      </div>
      <ul className={styles.slots} aria-label={`Slots of ${agent.id ?? ""}`}>
        {slots.map((slot, i) => {
          const kind = kinds[i] ?? "off";
          const words = describe(kind, slot);
          return (
            <li key={slot.id} className={`${styles.slot} ${styles[kind]}`} title={words}>
              <span aria-hidden>{marks[kind]}</span>
              <span className="visually-hidden">{words}</span>
            </li>
          );
        })}
      </ul>
    </li>
  );
}

/** Agents and their slots as a picture of what is used, free, and takes no work. */
export function Agents({ agents }: { agents: Agent[] }) {
  if (agents.length === 0) {
    return (
      <EmptyState command="resolute-agent --master http://this-master:8080 --token-file agent.token">
        No agent has ever been connected.
      </EmptyState>
    );
  }
  return (
    <ul className={styles.agents}>
      {agents.map((agent) => (
        <AgentCard key={agent.id} agent={agent} />
      ))}
    </ul>
  );
}
