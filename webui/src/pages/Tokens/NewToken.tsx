import { CopyText } from "@/components/CopyText/CopyText";
import styles from "./NewToken.module.css";

/** A new token. The master does not keep it. */
export function NewToken({ token, onClose }: { token: string; onClose: () => void }) {
  return (
    <div className={styles.made} role="status" aria-label="New token">
      <p>Copy the token now. It is not shown again.</p>
      <CopyText text={token} />
      <p>
        Send it as <code>Authorization: Bearer …</code>, or sign in with{" "}
        <code>det token login</code>.
      </p>
      <button type="button" onClick={onClose}>
        Done
      </button>
    </div>
  );
}
