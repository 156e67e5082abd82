import { Link, useSearchParams } from "react-router";
import { Swatch } from "@/charts/Swatch";
import { paths } from "@/paths";
import styles from "./Cluster.module.css";
import type { ColourBy, Share } from "./slotHolders";

// More colours cannot be distinguished; the cells show the IDs.
const MAX_SHOWN = 16;

/** The legend of the slots' colours and the choice of what they show; the address keeps it. */
export function Legend({ shares, colourBy }: { shares: readonly Share[]; colourBy: ColourBy }) {
  const [params, setParams] = useSearchParams();
  const choose = (by: string) => {
    const next = new URLSearchParams(params);
    next.set("colour", by);
    setParams(next, { replace: true });
  };
  return (
    <div className={styles.tools}>
      <label>
        Color by{" "}
        <select value={colourBy} onChange={(event) => choose(event.target.value)}>
          <option>experiment</option>
          <option>user</option>
        </select>
      </label>
      <ul className={styles.legend}>
        {shares.slice(0, MAX_SHOWN).map(({ rank, label, experimentId, slots }) => (
          <li key={rank}>
            <Swatch rank={rank} />{" "}
            {experimentId > 0 ? <Link to={paths.experiment(experimentId)}>{label}</Link> : label}{" "}
            <span className={styles.note}>{slots}</span>
          </li>
        ))}
        {shares.length > MAX_SHOWN && <li>and {shares.length - MAX_SHOWN} more</li>}
      </ul>
    </div>
  );
}
