import { useState, type SyntheticEvent } from "react";
import { useSearchParams } from "react-router";
import styles from "./Experiment.module.css";

/** Selects the experiment to compare with by ID; the address keeps it. */
export function CompareForm() {
  const [params, setParams] = useSearchParams();
  const [text, setText] = useState(params.get("against") ?? "");
  const apply = (event: SyntheticEvent) => {
    event.preventDefault();
    const next = new URLSearchParams(params);
    if (text) next.set("against", text);
    else next.delete("against");
    setParams(next);
  };
  return (
    <form className={styles.choices} onSubmit={apply}>
      <label>
        Compare with experiment{" "}
        <input
          inputMode="numeric"
          pattern="[0-9]*"
          size={6}
          value={text}
          onChange={(e) => setText(e.target.value)}
        />
      </label>
      <button type="submit">Compare</button>
    </form>
  );
}
