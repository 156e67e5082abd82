import { NavLink } from "react-router";
import styles from "./Tabs.module.css";
import { useScrollIntoView } from "./useScrollIntoView";

export interface Tab {
  /** The last part of the address; empty for the first tab. */
  name: string;
  label: string;
  count?: number | undefined;
}

/** The tabs of a page, each with its own address. `label` names them for screen readers. */
export function Tabs({
  label,
  tabs,
  to,
}: {
  label: string;
  tabs: Tab[];
  to: (name: string) => string;
}) {
  const row = useScrollIntoView<HTMLElement>();
  return (
    <nav ref={row} className={styles.tabs} aria-label={label}>
      {tabs.map((tab) => (
        <NavLink key={tab.name} to={to(tab.name)} end>
          {tab.label}
          {tab.count !== undefined && <span className={styles.count}> {tab.count}</span>}
        </NavLink>
      ))}
    </nav>
  );
}
