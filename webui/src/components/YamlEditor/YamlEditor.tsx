import { useId } from "react";
import styles from "./YamlEditor.module.css";

interface Props {
  /** The name of the text: "Template (YAML)". */
  label: string;
  text: string;
  onText: (text: string) => void;
  isReadOnly: boolean;
  /** Problems, one per line. */
  problems: readonly string[];
  /** Shown if there are no problems. */
  good?: string | false | undefined;
}

/** A YAML editor with its problems. */
export function YamlEditor({ label, text, onText, isReadOnly, problems, good }: Props) {
  const id = useId();
  return (
    <>
      <textarea
        className={styles.editor}
        aria-label={label}
        aria-invalid={problems.length > 0}
        aria-describedby={id}
        spellCheck={false}
        readOnly={isReadOnly}
        value={text}
        onChange={(event) => onText(event.target.value)}
      />
      <div id={id} role="status">
        {problems.length > 0 ? <pre className={styles.problems}>{problems.join("\n")}</pre> : good}
      </div>
    </>
  );
}
