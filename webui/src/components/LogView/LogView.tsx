import { useEffect, useLayoutEffect, useRef, useState } from "react";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useSearchParams } from "react-router";
import { isoLocal } from "@/format";
import { ErrorPanel } from "../ErrorPanel/ErrorPanel";
import { EmptyState } from "../EmptyState/EmptyState";
import { FilterForm } from "./FilterForm";
import { readFilters, writeFilters } from "./filters";
import styles from "./LogView.module.css";
import { useLog } from "./useLog";
import type { LogLine } from "./window";

interface Props {
  trialId: number;
  /** Whether more may come. */
  follow: boolean;
}

const ROW = 20;
const NEAR = 40;

/** The log of a trial, of any length: a window of it is kept, the rest is read as one scrolls. */
export function LogView({ trialId, follow }: Props) {
  const [params, setParams] = useSearchParams();
  const filters = readFilters(params);
  const log = useLog(trialId, filters, follow);
  const { lines } = log;
  const place = useRef<HTMLDivElement>(null);
  const [marked, setMarked] = useState<string>();
  const [isAtEnd, setAtEnd] = useState(true);
  const rows = useVirtualizer({
    count: lines.length,
    getScrollElement: () => place.current,
    estimateSize: () => ROW,
    overscan: 20,
    initialRect: { width: 800, height: 600 },
  });

  // What one reads stays where it is when lines come before it; the end stays the end.
  const top = useRef<{ id: string; offset: number }>(undefined);
  useLayoutEffect(() => {
    const element = place.current;
    if (!element || lines.length === 0) return;
    const markedAt = marked === undefined ? -1 : lines.findIndex((line) => line.id === marked);
    if (markedAt >= 0 && top.current?.id !== marked) {
      element.scrollTop = Math.max(0, markedAt * ROW - element.clientHeight / 2);
      top.current = { id: marked ?? "", offset: 0 };
      return;
    }
    if (isAtEnd && log.hasEnd) {
      element.scrollTop = element.scrollHeight;
      return;
    }
    const kept = lines.findIndex((line) => line.id === top.current?.id);
    if (kept >= 0 && marked === undefined)
      element.scrollTop = kept * ROW + (top.current?.offset ?? 0);
  }, [lines, marked, isAtEnd, log.hasEnd]);

  const onScroll = () => {
    const element = place.current;
    if (!element) return;
    const first = Math.floor(element.scrollTop / ROW);
    const last = Math.ceil((element.scrollTop + element.clientHeight) / ROW);
    if (marked === undefined)
      top.current = { id: lines[first]?.id ?? "", offset: element.scrollTop - first * ROW };
    setAtEnd(element.scrollHeight - element.scrollTop - element.clientHeight < 2 * ROW);
    if (first < NEAR) void log.readOlder();
    if (last > lines.length - NEAR) void log.readNewer();
  };

  const visible = rows.getVirtualItems();
  const goToError = async (isBack: boolean) => {
    const from = marked ?? lines[visible[isBack ? visible.length - 1 : 0]?.index ?? 0]?.id ?? "0";
    const found = await log.toError(from, isBack);
    if (found !== undefined) {
      setAtEnd(false);
      setMarked(found);
    }
  };
  const go = (move: () => Promise<void>, isEnd: boolean) => {
    setMarked(undefined);
    top.current = undefined;
    setAtEnd(isEnd);
    void move().then(() => {
      if (!isEnd && place.current) place.current.scrollTop = 0;
    });
  };
  useEffect(() => setMarked(undefined), [params]);

  return (
    <div className={styles.view}>
      <FilterForm
        filters={filters}
        onFilters={(next) => setParams(writeFilters(params, next), { replace: true })}
      />
      <div className={styles.moves} role="toolbar" aria-label="Go to">
        <button type="button" onClick={() => go(log.toStart, false)}>
          Start
        </button>
        <button type="button" onClick={() => go(log.toEnd, true)}>
          {follow ? "End, follow" : "End"}
        </button>
        <button type="button" onClick={() => void goToError(true)}>
          Last error
        </button>
        <button type="button" onClick={() => void goToError(false)}>
          Next error
        </button>
        <a
          className={styles.download}
          href={`/api/v1/trials/${trialId}/logs`}
          download={`trial-${trialId}.ndjson`}
        >
          Download
        </a>
        <span role="status" className={styles.said}>
          {log.isReading ? "reading…" : follow && log.hasEnd && isAtEnd ? "following" : ""}
        </span>
      </div>
      {log.error && <ErrorPanel error={log.error} />}
      {lines.length === 0 && log.hasEnd && (
        <EmptyState command={`det trial logs -f ${trialId}`}>
          No line fits, or none was written yet.
        </EmptyState>
      )}
      <div
        ref={place}
        className={styles.lines}
        onScroll={onScroll}
        tabIndex={0}
        role="log"
        aria-live="off"
        aria-label={`Log of trial ${trialId}`}
      >
        <div className={styles.all} style={{ height: rows.getTotalSize() }}>
          {visible.map(({ index, start }) => {
            const line = lines[index];
            return (
              line && (
                <Line
                  key={line.id}
                  line={line}
                  previous={lines[index - 1]}
                  top={start}
                  isMarked={line.id === marked}
                />
              )
            );
          })}
        </div>
      </div>
    </div>
  );
}

interface LineProps {
  line: LogLine;
  previous: LogLine | undefined;
  top: number;
  isMarked: boolean;
}

function Line({ line, previous, top, isMarked }: LineProps) {
  const time = isoLocal(line.timestamp);
  const date = time.slice(0, 10);
  // Where the date is another than the line's before.
  const day = date === isoLocal(previous?.timestamp).slice(0, 10) ? "" : `${date} `;
  const level = (line.level ?? "").replace("LOG_LEVEL_", "");
  const kind =
    level === "ERROR" || level === "CRITICAL"
      ? styles.error
      : level === "WARNING"
        ? styles.warning
        : "";
  return (
    <div
      className={`${styles.line} ${kind} ${isMarked ? styles.marked : ""}`}
      style={{ transform: `translateY(${top}px)` }}
    >
      <span className={styles.time} title={time}>
        {day + time.slice(11, 23)}
      </span>
      <span className={styles.rank}>{line.rankId ?? ""}</span>
      <span>{line.log ?? line.message}</span>
    </div>
  );
}
