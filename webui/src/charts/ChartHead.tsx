import { useEffect, useState } from "react";
import styles from "./LineChart.module.css";
import type { ChartView } from "./view";

interface Props {
  title: string;
  view: ChartView;
  /** The smoothing weight while the slider moves and when it is released. */
  weight: number;
  onWeight: (weight: number, isDone: boolean) => void;
  onView: (change: Partial<ChartView>) => void;
  onPng: () => void;
  onSvg: () => void;
  /** Reads all points, which may take a while. */
  onCsv: (signal: AbortSignal) => Promise<void>;
}

/** The title, view controls and exports of a chart. */
export function ChartHead(props: Props) {
  const { title, view, weight, onWeight, onView, onPng, onSvg } = props;
  return (
    <figcaption className={styles.head}>
      <span className={styles.title}>{title}</span>
      {view.zoom && (
        <button
          type="button"
          className="plain"
          title="Reset the zoom; double-clicking the chart does the same"
          onClick={() => onView({ zoom: undefined })}
        >
          Reset zoom
        </button>
      )}
      <LogBox isLog={view.isLog} onLog={(isLog) => onView({ isLog })} />
      <label className={styles.option}>
        Smoothing{" "}
        <input
          type="range"
          min={0}
          max={0.99}
          step={0.01}
          value={weight}
          onChange={(e) => onWeight(Number(e.target.value), false)}
          onPointerUp={() => onWeight(weight, true)}
          onKeyUp={() => onWeight(weight, true)}
          onBlur={() => onWeight(weight, true)}
        />
      </label>
      <button type="button" className="plain" aria-label={`Export ${title} as PNG`} onClick={onPng}>
        PNG
      </button>
      <button type="button" className="plain" aria-label={`Export ${title} as SVG`} onClick={onSvg}>
        SVG
      </button>
      <CsvButton title={title} onCsv={props.onCsv} />
    </figcaption>
  );
}

/** Shows a click at once; follows the address as soon as it changes. */
function LogBox({ isLog, onLog }: { isLog: boolean; onLog: (isLog: boolean) => void }) {
  const [shown, setShown] = useState(isLog);
  useEffect(() => setShown(isLog), [isLog]);
  return (
    <label className={styles.option}>
      <input
        type="checkbox"
        checked={shown}
        onChange={({ target }) => {
          setShown(target.checked);
          onLog(target.checked);
        }}
      />{" "}
      Log scale
    </label>
  );
}

function CsvButton({ title, onCsv }: Pick<Props, "title" | "onCsv">) {
  const [reading, setReading] = useState<AbortController>();
  const [problem, setProblem] = useState("");
  useEffect(() => () => reading?.abort(), [reading]);
  const read = async () => {
    const aborter = new AbortController();
    setReading(aborter);
    setProblem("");
    try {
      await onCsv(aborter.signal);
    } catch (error) {
      if (!aborter.signal.aborted)
        setProblem(error instanceof Error ? error.message : "CSV export failed");
    }
    setReading(undefined);
  };
  return (
    <>
      <button
        type="button"
        className="plain"
        aria-label={reading ? `Cancel CSV export of ${title}` : `Export ${title} as CSV`}
        onClick={() => (reading ? reading.abort() : void read())}
      >
        {reading ? "Cancel CSV" : "CSV"}
      </button>
      {problem && <span role="alert">{problem}</span>}
    </>
  );
}
