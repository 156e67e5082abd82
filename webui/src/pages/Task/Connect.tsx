import type { ReactNode } from "react";
import type { Task } from "@/api/tasks";
import { CopyText } from "@/components/CopyText/CopyText";
import styles from "./Task.module.css";

/** How to reach a task from a terminal or an editor. */
export function Connect({ task: { id, kind, serviceAddress } }: { task: Task }) {
  switch (kind) {
    case "notebook":
      return (
        <>
          {serviceAddress && (
            <Way text={location.origin + serviceAddress}>
              Server address for editors such as VS Code. It contains a token: keep it secret.
            </Way>
          )}
          <Way text={`det notebook open ${id}`}>Open it in a browser from a terminal.</Way>
        </>
      );
    case "shell":
      return (
        <>
          <Way text={`det shell open ${id}`}>Log in from a terminal.</Way>
          <Way text={`det shell show-ssh-command ${id}`}>Print the ssh command for an editor.</Way>
        </>
      );
    case "tensorboard":
      return <Way text={`det tensorboard open ${id}`}>Open it in a browser from a terminal.</Way>;
    default:
      return <Way text={`det task logs -f ${id}`}>Follow its log in a terminal.</Way>;
  }
}

function Way({ text, children }: { text: string; children: ReactNode }) {
  return (
    <div className={styles.way}>
      <CopyText text={text} />
      <span className={styles.reason}>{children}</span>
    </div>
  );
}
