import { useEffect, useState, type SyntheticEvent } from "react";
import { Link } from "react-router";
import { paths } from "@/paths";

interface Props {
  ids: readonly number[];
  chosen: number;
  onChoose: (id: number) => void;
}

// The number of suggested trials; others can be typed.
const OFFERED = 500;

/** Selects a trial of an experiment with possibly thousands, by ID or by previous and next. */
export function TrialPicker({ ids, chosen, onChoose }: Props) {
  const [text, setText] = useState(String(chosen));
  useEffect(() => setText(String(chosen)), [chosen]);
  const typed = Number(text);
  const isKnown = ids.includes(typed);
  const apply = (event?: SyntheticEvent) => {
    event?.preventDefault();
    if (isKnown && typed !== chosen) onChoose(typed);
  };
  const index = ids.indexOf(chosen);
  const step = (label: string, id: number | undefined) => (
    <button
      type="button"
      disabled={id === undefined}
      onClick={() => id !== undefined && onChoose(id)}
    >
      {label}
    </button>
  );
  return (
    <form onSubmit={apply} onBlur={() => apply()}>
      <label>
        Trial{" "}
        <input
          size={8}
          inputMode="numeric"
          list="trials-of-experiment"
          value={text}
          aria-invalid={!isKnown}
          aria-describedby="trial-wrong"
          onChange={(event) => setText(event.target.value)}
        />
      </label>
      <datalist id="trials-of-experiment">
        {ids.slice(0, OFFERED).map((id) => (
          <option key={id} value={id} />
        ))}
      </datalist>{" "}
      {step("Previous", ids[index - 1])} {step("Next", ids[index + 1])}{" "}
      <Link to={paths.trial(chosen)}>Open trial</Link>{" "}
      <span id="trial-wrong" role="status">
        {isKnown ? `${index + 1} of ${ids.length}` : "No such trial in this experiment."}
      </span>
    </form>
  );
}
