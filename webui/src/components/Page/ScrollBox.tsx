import type { ReactNode } from "react";
import styles from "./Page.module.css";

/**
 * A box around a table that may be wider than the screen: it scrolls instead of the page, also with the arrow
 * keys.
 */
export function ScrollBox({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div className={styles.scroll} tabIndex={0} role="group" aria-label={label}>
      {children}
    </div>
  );
}
