import { useOverview } from "@/api/useOverview";
import { formatCount } from "@/text";
import { Meter } from "../Meter/Meter";
import styles from "./Frame.module.css";

/** Slots in use and queued jobs; dimmed while the master is unreachable. */
export function Pulse({ live }: { live: boolean }) {
  const overview = useOverview();
  if (!overview) return null;
  const { slots = 0, slotsInUse = 0, jobsWaiting = 0 } = overview;
  return (
    <div
      className={styles.pulse}
      title={live ? "Connected" : "Connection to the master lost; retrying"}
    >
      <Meter label="Slots in use" value={slotsInUse} all={slots} />
      <span>
        {slotsInUse} / {formatCount(slots, "slot")}
      </span>
      <span className={styles.label}>{live ? `${jobsWaiting} queued` : "not connected"}</span>
    </div>
  );
}
