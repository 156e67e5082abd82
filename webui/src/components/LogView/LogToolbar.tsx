import { CopyText } from "../CopyText/CopyText";
import { toLineUrl } from "./Line";
import styles from "./LogView.module.css";

interface Props {
  trialId: number;
  follow: boolean;
  isFollowing: boolean;
  /** The ID of the selected line, or "". */
  selected: string;
  /** The page's query. */
  search: string;
  status: string;
  onStart: () => void;
  onEnd: () => void;
  onError: (isBack: boolean) => void;
  onDeselect: () => void;
  /** Removes the filters; undefined if there are none. */
  onAll?: () => void;
}

/** Jumps to the ends and the errors of a log; actions on the selected line. */
export function LogToolbar(props: Props) {
  const { trialId, follow, isFollowing, selected, status, onStart, onEnd, onError } = props;
  return (
    <div className={styles.moves} role="toolbar" aria-label="Log navigation">
      <button type="button" onClick={onStart}>
        Start
      </button>
      <button type="button" onClick={onEnd}>
        {follow ? "End (follow)" : "End"}
      </button>
      <button type="button" onClick={() => onError(true)}>
        Previous error
      </button>
      <button type="button" onClick={() => onError(false)}>
        Next error
      </button>
      {props.onAll && (
        <button type="button" onClick={props.onAll}>
          Show all lines
        </button>
      )}
      {selected && (
        <>
          <CopyText
            key={selected}
            text={toLineUrl(selected, props.search)}
            label="Link to this line"
          />
          <button type="button" className="plain" onClick={props.onDeselect}>
            Clear selection
          </button>
        </>
      )}
      <a
        className={styles.download}
        href={`/api/v1/trials/${trialId}/logs`}
        download={`trial-${trialId}.ndjson`}
      >
        Download
      </a>
      <span role="status" className={styles.status}>
        {status || (isFollowing ? "Following" : "")}
      </span>
    </div>
  );
}
