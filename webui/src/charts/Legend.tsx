import { useState } from "react";
import styles from "./LineChart.module.css";
import type { Series } from "./series";
import { Swatch } from "./Swatch";

interface Props {
  series: readonly Series[];
  hidden: ReadonlySet<string>;
  /** The series nearest to the pointer. */
  focus?: string | undefined;
  onHide: (hidden: ReadonlySet<string>) => void;
  height: number;
}

// The search finds the others.
const MAX_SHOWN = 100;

/** The series of a chart as a searchable list; a click hides or shows a series. */
export function Legend({ series, hidden, focus, onHide, height }: Props) {
  const [text, setText] = useState("");
  const found = series.filter((each) => each.label.toLowerCase().includes(text.toLowerCase()));
  const toggle = (id: string) => {
    const next = new Set(hidden);
    if (!next.delete(id)) next.add(id);
    onHide(next);
  };
  const showOnlyFound = () => {
    const kept = new Set(found.map((each) => each.id));
    onHide(new Set(series.filter((each) => !kept.has(each.id)).map((each) => each.id)));
  };
  return (
    <div className={styles.legend} style={{ maxHeight: height }}>
      {series.length > 8 && (
        <>
          <input
            type="search"
            placeholder={`Search ${series.length} series`}
            aria-label="Search series"
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
          <div className={styles.actions}>
            <button type="button" className="plain" onClick={showOnlyFound}>
              Show only these
            </button>
            <button type="button" className="plain" onClick={() => onHide(new Set())}>
              Show all
            </button>
          </div>
        </>
      )}
      <ul className={styles.list}>
        {found.slice(0, MAX_SHOWN).map((each) => (
          <li key={each.id} className={each.id === focus ? styles.focus : undefined}>
            <button
              type="button"
              aria-pressed={!hidden.has(each.id)}
              onClick={() => toggle(each.id)}
            >
              <Swatch rank={each.rank} />
              <span className={hidden.has(each.id) ? styles.off : undefined}>{each.label}</span>
            </button>
          </li>
        ))}
        {found.length > MAX_SHOWN && <li>and {found.length - MAX_SHOWN} more</li>}
      </ul>
    </div>
  );
}
