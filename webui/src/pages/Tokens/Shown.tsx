import { CopyText } from "@/components/CopyText/CopyText";
import styles from "./Shown.module.css";

/** A token that was just made. The master keeps no copy of it. */
export function Shown({ token, onClose }: { token: string; onClose: () => void }) {
  return (
    <div className={styles.made} role="status" aria-label="The new token">
      <p>Copy the token now: it is shown this once, and nobody can read it again.</p>
      <CopyText text={token} />
      <p>
        A program sends it as <code>Authorization: Bearer …</code>; <code>det</code> takes it by{" "}
        <code>det token login</code>.
      </p>
      <button type="button" onClick={onClose}>
        Done
      </button>
    </div>
  );
}
