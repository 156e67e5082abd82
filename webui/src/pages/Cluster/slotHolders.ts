import type { Job, Message } from "@/api/types";

type Agent = Message["Agent"];
type Slot = Message["Slot"];

/** Who holds a slot: an allocation of an experiment's trial. */
export interface Holder {
  allocationId: string;
  /** 0: it belongs to no experiment. */
  experimentId: number;
  trialId: number;
  /** The experiment's, and its owner's; empty where they are not visible. */
  name: string;
  username: string;
  userId: number;
}

/** What a slot is doing. */
export type Kind = "used" | "free" | "draining" | "disabled" | "quarantined" | "disconnected";

/** What slots are coloured by. */
export type ColourBy = "experiment" | "user";

/** All that hold a slot; of a shared device there may be several. */
export function getHolders(slot: Slot, jobs: ReadonlyMap<string, Job>): Holder[] {
  const containers = slot.containers?.length ? slot.containers : [slot.container ?? {}];
  return containers.flatMap(({ id }) => {
    if (!id) return [];
    const [experiment = "", trial = ""] = id.split(".");
    const job = jobs.get(experiment);
    return {
      allocationId: id,
      experimentId: Number(experiment) || 0,
      trialId: Number(trial) || 0,
      name: job?.name ?? "",
      username: job?.username ?? "",
      userId: job?.userId ?? 0,
    };
  });
}

/** What the slot is doing; what holds it goes before what will become of it. */
export function getSlotState(agent: Agent, slot: Slot): Kind {
  if (slot.container?.id) return "used";
  if (!agent.connected) return "disconnected";
  if (slot.quarantined) return "quarantined";
  if (slot.draining || agent.draining) return "draining";
  return agent.enabled && slot.enabled ? "free" : "disabled";
}

/** Whether what runs on the slot is the last. */
export const isClosing = (agent: Agent, slot: Slot) =>
  slot.draining === true || agent.draining === true || !slot.enabled || !agent.enabled;

/** A number whose colour stays, whoever comes and goes. */
export const getRank = (holder: Holder, by: ColourBy) =>
  by === "user" ? holder.userId : holder.experimentId;

/** "slot 0, A100: experiment 7 (bert), trial 9, by ann". */
export function describe(agent: Agent, slot: Slot, holders: readonly Holder[]): string {
  const what = `slot ${slot.id ?? ""}${slot.device?.brand ? `, ${slot.device.brand}` : ""}`;
  const kind = getSlotState(agent, slot);
  const reason = slot.reason ? `: ${slot.reason}` : "";
  if (kind !== "used") return `${what}: ${kind}${kind === "free" ? "" : reason}`;
  const who = holders.map(({ allocationId, experimentId, trialId, name, username }) =>
    experimentId === 0
      ? allocationId
      : `experiment ${experimentId}${name && ` (${name})`}, trial ${trialId}${username && `, by ${username}`}`,
  );
  return `${what}: ${who.join("; ")}${isClosing(agent, slot) ? "; accepts no more work" : ""}`;
}

/** One line of the legend: who, and how many slots. */
export interface Share {
  rank: number;
  label: string;
  experimentId: number;
  slots: number;
}

/** Who holds how many slots, the max first. A shared slot counts for each. */
export function countSlots(
  agents: readonly Agent[],
  jobs: ReadonlyMap<string, Job>,
  by: ColourBy,
): Share[] {
  const shares = new Map<number, Share>();
  for (const slot of agents.flatMap((agent) => Object.values(agent.slots ?? {}))) {
    for (const holder of getHolders(slot, jobs)) {
      const rank = getRank(holder, by);
      const label =
        by === "user"
          ? holder.username || "other users"
          : `${holder.experimentId} ${holder.name}`.trim() || holder.allocationId;
      const share = shares.get(rank) ?? {
        rank,
        label,
        slots: 0,
        experimentId: by === "experiment" ? holder.experimentId : 0,
      };
      share.slots++;
      shares.set(rank, share);
    }
  }
  return [...shares.values()].sort((a, b) => b.slots - a.slots || a.rank - b.rank);
}
