import type { ReactNode } from "react";
import { CopyText } from "../CopyText/CopyText";
import styles from "./EmptyState.module.css";

interface Props {
  /** One sentence on what is missing. */
  children: ReactNode;
  /** A command that adds the first item, ready to copy. */
  command?: string;
}

/** Shown instead of an empty list or chart. */
export function EmptyState({ children, command }: Props) {
  return (
    <div className={styles.empty}>
      <p>{children}</p>
      {command && <CopyText text={command} />}
    </div>
  );
}
