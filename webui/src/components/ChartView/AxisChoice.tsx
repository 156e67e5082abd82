import { useSearchParams } from "react-router";
import { X_AXES, type XAxis } from "@/charts/points";
import { writeAxis } from "./chartParams";

/** The x axis of the page's charts, from the address. */
export function useAxis(axes: readonly XAxis[] = X_AXES): XAxis {
  const [params] = useSearchParams();
  return axes.find((each) => each === params.get("x")) ?? axes[0] ?? "batches";
}

/** Whether the reports have epochs: the master takes them from a metric of this name. */
export const haveEpochs = (metrics: readonly { name: string }[]) =>
  metrics.some(({ name }) => name === "epoch" || name === "epochs");

interface Props {
  axis: XAxis;
  /** Whether the reports have epochs; without, the axis cannot be selected. */
  hasEpochs: boolean;
}

/** Selects the x axis of the page's charts; the address keeps it. */
export function AxisChoice({ axis, hasEpochs }: Props) {
  const [params, setParams] = useSearchParams();
  return (
    <label>
      X axis:{" "}
      <select value={axis} onChange={(event) => setParams(writeAxis(params, event.target.value))}>
        {X_AXES.map((each) => {
          const isMissing = each === "epochs" && !hasEpochs;
          return (
            <option
              key={each}
              value={each}
              disabled={isMissing}
              title={isMissing ? "Epochs are taken from a metric named epoch." : undefined}
            >
              {isMissing ? "epochs (none reported)" : each}
            </option>
          );
        })}
      </select>
    </label>
  );
}
