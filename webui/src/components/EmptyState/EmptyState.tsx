import type { ReactNode } from "react";
import { CopyText } from "../CopyText/CopyText";
import styles from "./EmptyState.module.css";

interface Props {
  /** One sentence: what would be here. */
  children: ReactNode;
  /** The command that fills it, ready to copy. */
  command?: string;
}

/** Stands where a list or a chart has nothing to show, and says what to do next. */
export function EmptyState({ children, command }: Props) {
  return (
    <div className={styles.empty}>
      <p>{children}</p>
      {command && <CopyText text={command} />}
    </div>
  );
}
