import { useMemo } from "react";
import { Link } from "react-router";
import { Comparison } from "@/components/Comparison/Comparison";
import { parseIds } from "@/components/Comparison/ids";
import { useEscape } from "@/components/Popover/useEscape";
import { paths } from "@/paths";
import { formatCount } from "@/text";
import styles from "./Experiments.module.css";

/** Compares the trials in the address, beside the table. */
export function CompareDrawer({ trials, onClose }: { trials: string; onClose: () => void }) {
  useEscape(true, onClose);
  const ids = useMemo(() => parseIds(trials), [trials]);
  return (
    <aside className={styles.drawer} aria-label="Compared trials" tabIndex={-1}>
      <div className={styles.drawerHead}>
        <h2>{formatCount(ids.length, "trial")} compared</h2>
        <Link to={paths.compare(ids)}>Open as a page</Link>
        <button type="button" autoFocus onClick={onClose}>
          Close
        </button>
      </div>
      <Comparison ids={ids} />
    </aside>
  );
}
