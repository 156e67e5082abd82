import type { Message } from "@/api/types";
import { Meter } from "@/components/Meter/Meter";
import styles from "./Cluster.module.css";

type Pool = Message["ResourcePool"];

/** "fair_share" becomes "fair share". */
export function formatPolicy(pool: Pool): string {
  return (pool.policy || (pool.schedulerType ?? "").replace("SCHEDULER_TYPE_", ""))
    .toLowerCase()
    .replaceAll("_", " ");
}

function formatRules(pool: Pool): string {
  const fitting = pool.schedulerFittingPolicy === "FITTING_POLICY_WORST" ? "spreads" : "packs";
  return [
    `${formatPolicy(pool)}, ${fitting}`,
    pool.preemption && "preempts",
    pool.backfill && "backfills",
    pool.sharedDevices && "shares devices",
    pool.workspaces?.length && `bound to ${pool.workspaces.join(", ")}`,
  ]
    .filter(Boolean)
    .join(", ");
}

const formatDefault = (pool: Pool) =>
  pool.defaultComputePool
    ? " (default)"
    : pool.defaultAuxPool
      ? " (default for zero-slot tasks)"
      : "";

/** The slots, policy and queue length of each pool. */
export function Pools({ pools }: { pools: readonly Pool[] }) {
  return (
    <div className={styles.scroll} tabIndex={0} role="group" aria-label="Pools">
      <table>
        <thead>
          <tr>
            <th>Pool</th>
            <th>Slots in use</th>
            <th className="number">Agents</th>
            <th>Device</th>
            <th className="number">Running</th>
            <th className="number">Queued</th>
            <th>Policy</th>
          </tr>
        </thead>
        <tbody>
          {pools.map((pool) => (
            <tr key={pool.name}>
              <td title={pool.description}>
                {pool.name}
                <span className={styles.note}>{formatDefault(pool)}</span>
              </td>
              <td>
                <div className={styles.load}>
                  <Meter
                    label={`Slots in use of pool ${pool.name ?? ""}`}
                    value={pool.slotsUsed ?? 0}
                    all={pool.slotsAvailable ?? 0}
                  />
                  <span>
                    {pool.slotsUsed} / {pool.slotsAvailable}
                  </span>
                </div>
              </td>
              <td className="number">{pool.numAgents}</td>
              <td>{pool.accelerator || "–"}</td>
              <td className="number">{pool.stats?.scheduledCount ?? 0}</td>
              <td className="number">{pool.stats?.queuedCount ?? 0}</td>
              <td>{formatRules(pool)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
