import type { Overview } from "@/api/useOverview";
import { Meter } from "@/components/Meter/Meter";
import styles from "./Home.module.css";

function Figure({ value, children }: { value: string | number; children: string }) {
  return (
    <div>
      <dd className={styles.value}>{value}</dd>
      <dt>{children}</dt>
    </div>
  );
}

/** The slots, jobs and agents of the cluster, and the slots of each pool. */
export function ClusterLoad({ overview }: { overview: Overview }) {
  const { slots = 0, slotsInUse = 0, jobsRunning = 0, jobsWaiting = 0, agents = 0 } = overview;
  return (
    <section aria-label="Cluster load" className={styles.load}>
      <dl className={styles.figures}>
        <Figure value={`${slotsInUse} / ${slots}`}>slots in use</Figure>
        <Figure value={jobsRunning}>jobs running</Figure>
        <Figure value={jobsWaiting}>jobs queued</Figure>
        <Figure value={agents}>{agents === 1 ? "agent" : "agents"}</Figure>
      </dl>
      <ul className={styles.pools}>
        {overview.pools?.map(({ name = "", slotsUsed = 0, slotsAvailable = 0 }) => (
          <li key={name}>
            <span>{name}</span>
            <Meter label={`Slots in use of pool ${name}`} value={slotsUsed} all={slotsAvailable} />
            <span className="number">
              {slotsUsed} / {slotsAvailable}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
