import { NavLink } from "react-router";
import styles from "./Tabs.module.css";
import { useScrollIntoView } from "./useScrollIntoView";

export interface Tab {
  /** In the address; the first tab's is empty. */
  name: string;
  label: string;
  count?: number | undefined;
}

/** The parts of a page, each with an address of its own. `label`: what they are parts of. */
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
