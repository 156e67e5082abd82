import { useState, type ReactNode } from "react";
import { Link } from "react-router";
import type { Job, Message } from "@/api/types";
import { formatBytes } from "@/charts/format";
import { getStroke } from "@/charts/colours";
import { EmptyState } from "@/components/EmptyState/EmptyState";
import { Icon } from "@/components/Icon/Icon";
import { paths } from "@/paths";
import { AgentActions, SlotActions } from "./AgentActions";
import styles from "./Cluster.module.css";
import {
  describe,
  getHolders,
  isClosing,
  getSlotState,
  getRank,
  type ColourBy,
  type Kind,
} from "./slotHolders";

type Agent = Message["Agent"];
type Slot = Message["Slot"];

const marks: Record<Exclude<Kind, "used">, ReactNode> = {
  free: "",
  draining: <Icon name="quarter" />,
  disabled: <Icon name="cross" />,
  quarantined: "!",
  disconnected: "–",
};

interface Shown {
  jobs: ReadonlyMap<string, Job>;
  colourBy: ColourBy;
  /** Whether the user may drain and disable agents and slots. */
  mayChange: boolean;
}

interface CellProps extends Shown {
  agent: Agent;
  slot: Slot;
  isChosen: boolean;
  onChoose: () => void;
}

function SlotCell({ agent, slot, jobs, colourBy, isChosen, onChoose }: CellProps) {
  const holders = getHolders(slot, jobs);
  const [first, ...others] = holders;
  const kind = getSlotState(agent, slot);
  const words = describe(agent, slot, holders);
  const { colour, dash } = getStroke(first ? getRank(first, colourBy) : 0);
  const text =
    colourBy === "user" ? (first?.username.slice(0, 3) ?? "") : String(first?.experimentId ?? "");
  const used = first && {
    borderColor: colour,
    borderStyle: dash.length > 0 ? "dashed" : "solid",
    background: `color-mix(in srgb, ${colour} 22%, var(--page))`,
  };
  const kindClass = `${styles.slot} ${styles[kind]} ${first && isClosing(agent, slot) ? styles.closing : ""}`;
  return (
    <li title={words}>
      <button
        type="button"
        className={kindClass}
        style={used}
        aria-pressed={isChosen}
        onClick={onChoose}
      >
        <span aria-hidden>
          {kind === "used" ? `${text}${others.length > 0 ? "+" : ""}` : marks[kind]}
        </span>
        <span className="visually-hidden">{words}</span>
      </button>
    </li>
  );
}

function getFacts(agent: Agent): string {
  const now = Date.now();
  const next = agent.maintenance?.find(({ end }) => Date.parse(end ?? "") > now);
  const state = !agent.connected
    ? "disconnected"
    : agent.draining
      ? "draining"
      : agent.enabled
        ? ""
        : "disabled";
  return [
    agent.resourcePools?.join(", "),
    agent.memory ? formatBytes(Number(agent.memory)) : "",
    next && `maintenance ${next.begin ?? ""}`,
    state,
  ]
    .filter(Boolean)
    .join(" · ");
}

function AgentCard({ agent, ...shown }: { agent: Agent } & Shown) {
  const [chosen, setChosen] = useState<string>();
  const slots = Object.values(agent.slots ?? {});
  const used = slots.filter((slot) => getSlotState(agent, slot) === "used").length;
  const slot = slots.find(({ id }) => id === chosen);
  const [holder] = slot ? getHolders(slot, shown.jobs) : [];
  return (
    <li className={styles.agent}>
      <div className={styles.agentHead}>
        <h3>{agent.id}</h3>
        <span>{getFacts(agent)}</span>
        <span className="number">
          {used} / {slots.length}
        </span>
      </div>
      <ul className={styles.slots} aria-label={`Slots of ${agent.id ?? ""}`}>
        {slots.map((each) => (
          <SlotCell
            key={each.id}
            {...shown}
            agent={agent}
            slot={each}
            isChosen={each.id === chosen}
            onChoose={() => setChosen(each.id === chosen ? undefined : (each.id ?? ""))}
          />
        ))}
      </ul>
      {slot && (
        <p className={styles.chosen}>
          {holder && holder.experimentId > 0 && (
            <Link to={paths.trial(holder.trialId)}>
              Trial {holder.trialId} of experiment {holder.experimentId} {holder.name}
            </Link>
          )}{" "}
          {describe(agent, slot, getHolders(slot, shown.jobs))}
        </p>
      )}
      {shown.mayChange &&
        (slot ? <SlotActions agent={agent} slot={slot} /> : <AgentActions agent={agent} />)}
    </li>
  );
}

/** A picture of the agents' slots and who uses them; a selected slot shows details. */
export function Agents({ agents, ...shown }: { agents: readonly Agent[] } & Shown) {
  if (agents.length === 0) {
    return (
      <EmptyState command="resolute-agent --master http://this-master:8080 --token-file agent.token">
        No agents have connected yet.
      </EmptyState>
    );
  }
  return (
    <ul className={styles.agents}>
      {agents.map((agent) => (
        <AgentCard key={agent.id} agent={agent} {...shown} />
      ))}
    </ul>
  );
}
