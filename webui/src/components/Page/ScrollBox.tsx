import type { ReactNode } from "react";
import styles from "./Page.module.css";

/** Around a table that may be wider than the screen: it scrolls, also by the arrow keys, and not the page. */
export function ScrollBox({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div className={styles.scroll} tabIndex={0} role="group" aria-label={label}>
      {children}
    </div>
  );
}
