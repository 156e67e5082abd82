import { useSearchParams } from "react-router";
import { X_AXES, type XAxis } from "@/charts/points";
import { writeAxis } from "./chartParams";

/** The x axis of the page's charts, from the address. */
export function useAxis(axes: readonly XAxis[] = X_AXES): XAxis {
  const [params] = useSearchParams();
  return axes.find((each) => each === params.get("x")) ?? axes[0] ?? "batches";
}

/** Selects the x axis of the page's charts; the address keeps it. */
export function AxisChoice({ axis }: { axis: XAxis }) {
  const [params, setParams] = useSearchParams();
  return (
    <label>
      X axis:{" "}
      <select value={axis} onChange={(event) => setParams(writeAxis(params, event.target.value))}>
        {X_AXES.map((each) => (
          <option key={each}>{each}</option>
        ))}
      </select>
    </label>
  );
}
