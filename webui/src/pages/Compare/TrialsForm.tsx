import { useState, type SyntheticEvent } from "react";
import { useNavigate } from "react-router";
import { parseIds } from "@/components/Comparison/ids";
import { paths } from "@/paths";
import styles from "./Compare.module.css";

/** Selects the compared trials by ID. */
export function TrialsForm({ ids }: { ids: readonly number[] }) {
  const [text, setText] = useState(ids.join(", "));
  const navigate = useNavigate();
  const apply = (event: SyntheticEvent) => {
    event.preventDefault();
    void navigate(paths.compare(parseIds(text)));
  };
  return (
    <form className={styles.form} onSubmit={apply}>
      <label>
        Trials{" "}
        <input value={text} onChange={(event) => setText(event.target.value)} placeholder="7, 12" />
      </label>
      <button type="submit">Compare</button>
    </form>
  );
}
