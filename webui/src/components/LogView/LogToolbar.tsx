import { CopyText } from "../CopyText/CopyText";
import { Download } from "../Download/Download";
import { toLineUrl } from "./Line";
import styles from "./LogView.module.css";
import { readText } from "./readText";
import type { LogSource } from "./source";

interface Props {
  source: LogSource;
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
  const { source, follow, isFollowing, selected, status, onStart, onEnd, onError } = props;
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
      <Download
        label="Download"
        name={source.file}
        read={(signal, onBytes) => readText(source.path, signal, onBytes)}
      />
      <span role="status" className={styles.status}>
        {status || (isFollowing ? "Following" : "")}
      </span>
    </div>
  );
}
