import type { Job, Message } from "@/api/types";

type Agent = Message["Agent"];
type Slot = Message["Slot"];

/** The allocation that holds a slot. */
export interface Holder {
  allocationId: string;
  /** 0 if it does not belong to an experiment, or the caller may not see to which. */
  experimentId: number;
  trialId: number;
  /** Names of the experiment and its owner; empty if not visible to the caller. */
  name: string;
  username: string;
  userId: number;
}

/** The state of a slot. */
export type Kind = "used" | "free" | "draining" | "disabled" | "quarantined" | "disconnected";

/** What the colours of slots show. */
export type ColourBy = "experiment" | "user";

/** All holders of a slot; a shared device may have several. */
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

/** The state of a slot; a holder takes precedence over draining and the like. */
export function getSlotState(agent: Agent, slot: Slot): Kind {
  if (slot.container?.id) return "used";
  if (!agent.connected) return "disconnected";
  if (slot.quarantined) return "quarantined";
  if (slot.draining || agent.draining) return "draining";
  return agent.enabled && slot.enabled ? "free" : "disabled";
}

/** Whether the slot accepts no more work. */
export const isClosing = (agent: Agent, slot: Slot) =>
  slot.draining === true || agent.draining === true || !slot.enabled || !agent.enabled;

/** A rank that gives a holder a stable colour. */
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
      ? [name || allocationId, username && `by ${username}`].filter(Boolean).join(", ")
      : `experiment ${experimentId}${name && ` (${name})`}, trial ${trialId}${username && `, by ${username}`}`,
  );
  return `${what}: ${who.join("; ")}${isClosing(agent, slot) ? "; accepts no more work" : ""}`;
}

/** An entry of the legend. */
export interface Share {
  rank: number;
  label: string;
  experimentId: number;
  slots: number;
}

/** The number of slots by holder, largest first. A shared slot counts for each of its holders. */
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
          : holder.experimentId === 0
            ? "other jobs"
            : `${holder.experimentId} ${holder.name}`.trim();
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
