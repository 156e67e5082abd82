import { useId } from "react";
import styles from "./YamlEditor.module.css";

interface Props {
  /** What the text is: "Template, in YAML". */
  label: string;
  text: string;
  onText: (text: string) => void;
  isReadOnly: boolean;
  /** What is wrong with it, a line each. */
  problems: readonly string[];
  /** Said where nothing is wrong. */
  good?: string | false | undefined;
}

/** A text in YAML, and what is wrong with it. */
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
