import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useSearchParams } from "react-router";
import { ErrorPanel } from "../ErrorPanel/ErrorPanel";
import { EmptyState } from "../EmptyState/EmptyState";
import { useLatest } from "@/useLatest";
import { useParam } from "../Page/useParam";
import { FilterForm } from "./FilterForm";
import { foldLines } from "./fold";
import { hasFilters, leavesGaps, NO_FILTERS, readFilters, writeFilters } from "./filters";
import { Line } from "./Line";
import styles from "./LogView.module.css";
import { LogToolbar } from "./LogToolbar";
import type { LogSource } from "./source";
import { useLog } from "./useLog";
import { findErrorEdge, findLine } from "./window";

interface Props {
  source: LogSource;
  /** Whether more lines may arrive. */
  follow: boolean;
}

const ROW = 20;
const NEAR = 40;

// The portions that are read without scrolling, while the rows are too few to scroll.
const MAX_PORTIONS = 10;

/**
 * A log of any length: a window of it is kept and the rest is read on scrolling. The address
 * keeps the filters and the selected line (`line`).
 */
export function LogView({ source, follow }: Props) {
  const [params, setParams] = useSearchParams();
  const filters = readFilters(params);
  const search = params.toString();
  const [selected, setSelected] = useParam("line");
  const log = useLog(source.path, filters, follow, selected || undefined);
  // The lines as a terminal shows them; progress bars overwrite theirs.
  const hasGaps = leavesGaps(filters);
  const lines = useMemo(() => foldLines(log.lines, hasGaps), [log.lines, hasGaps]);
  const container = useRef<HTMLDivElement>(null);
  const [isAtEnd, setAtEnd] = useState(!selected);
  const [status, setStatus] = useState("");
  const rows = useVirtualizer({
    count: lines.length,
    getScrollElement: () => container.current,
    estimateSize: () => ROW,
    overscan: 20,
    initialRect: { width: 800, height: 600 },
  });

  // Scroll the selected line into view once. Otherwise keep the visible lines in place when lines are added
  // before them, and stay at the end.
  const top = useRef<{ id: string; offset: number }>(undefined);
  const seen = useRef("");
  useLayoutEffect(() => {
    const element = container.current;
    // Changed filters start without lines.
    if (!selected || lines.length === 0) seen.current = "";
    if (!element || lines.length === 0) return;
    const markedAt = selected && seen.current !== selected ? findLine(log, selected, lines) : -1;
    if (markedAt >= 0) {
      element.scrollTop = Math.max(0, markedAt * ROW - element.clientHeight / 2);
      seen.current = selected;
    } else if (isAtEnd && log.hasEnd) {
      element.scrollTop = element.scrollHeight;
    } else {
      const kept = lines.findIndex((line) => line.id === top.current?.id);
      if (kept >= 0) element.scrollTop = kept * ROW + (top.current?.offset ?? 0);
    }
    // `log` is a new object on every render.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [lines, selected, isAtEnd, log.hasEnd, log.hasStart]);

  // Many lines of a progress bar are one row: too few rows to scroll, which would read more.
  const isShort = lines.length < 2 * NEAR && lines.length < log.lines.length;
  // Such a log may be long: the user decides about more of it. Another address shows other lines.
  const [filled, setFilled] = useState({ search, portions: 0 });
  const portions = filled.search === search ? filled.portions : 0;
  const isStopped = isShort && portions >= MAX_PORTIONS;
  const isOlderNext = !log.hasStart && (log.hasEnd || portions % 2 === 0);
  const isFilling =
    isShort && !isStopped && !(log.hasStart && log.hasEnd) && !log.isReading && !log.error;
  const latestLog = useLatest(log);
  useEffect(() => {
    if (!isFilling) return;
    setFilled({ search, portions: portions + 1 });
    const { readOlder, readNewer } = latestLog.current;
    void (isOlderNext ? readOlder() : readNewer());
  }, [isFilling, isOlderNext, search, portions, latestLog]);
  const fillMore = () => setFilled({ search, portions: 0 });

  const getVisibleRange = () => {
    const { scrollTop = 0, clientHeight = 0 } = container.current ?? {};
    return [Math.floor(scrollTop / ROW), Math.ceil((scrollTop + clientHeight) / ROW)] as const;
  };
  const onScroll = () => {
    const element = container.current;
    if (!element) return;
    const [first, last] = getVisibleRange();
    top.current = { id: lines[first]?.id ?? "", offset: element.scrollTop - first * ROW };
    setAtEnd(element.scrollHeight - element.scrollTop - element.clientHeight < 2 * ROW);
    if (isShort) return;
    if (first < NEAR) void log.readOlder();
    if (last > lines.length - NEAR) void log.readNewer();
  };
  const mark = useCallback(
    (id: string) => {
      setAtEnd(false);
      setSelected(id);
    },
    [setSelected],
  );
  const goToError = async (isBack: boolean) => {
    const [first, last] = getVisibleRange();
    const here = lines[isBack ? Math.min(last, lines.length - 1) : first]?.id ?? "0";
    // Consecutive error lines count as one error, unless only errors are shown.
    const from = selected ? findErrorEdge(lines, selected, isBack) : here;
    setStatus("");
    const found = await log.findError(from, isBack);
    if (found === undefined) setStatus(`No ${isBack ? "earlier" : "later"} errors`);
    else mark(found);
  };
  const go = (move: () => Promise<void>, isEnd: boolean) => {
    setSelected("");
    setStatus("");
    fillMore();
    top.current = undefined;
    setAtEnd(isEnd);
    void move().then(() => {
      if (!isEnd && container.current) container.current.scrollTop = 0;
    });
  };
  const isFollowing = follow && log.hasEnd && isAtEnd;

  return (
    <div className={styles.view}>
      <FilterForm
        filters={filters}
        onFilters={(next) => setParams(writeFilters(params, next), { replace: true })}
      />
      <LogToolbar
        source={source}
        follow={follow}
        selected={selected}
        search={search}
        status={log.isReading ? "Loading…" : status}
        isFollowing={isFollowing}
        onStart={() => go(log.toStart, false)}
        onEnd={() => go(log.toEnd, true)}
        onError={(isBack) => void goToError(isBack)}
        onDeselect={() => setSelected("")}
        {...(hasFilters(filters) && {
          onAll: () => setParams(writeFilters(params, NO_FILTERS), { replace: true }),
        })}
      />
      {log.error && <ErrorPanel error={log.error} />}
      {lines.length === 0 && log.hasEnd && (
        <EmptyState command={source.command}>
          {hasFilters(filters) ? "No lines match the filter." : "No log lines yet."}
        </EmptyState>
      )}
      {isStopped && !log.hasStart && (
        <button type="button" disabled={log.isReading} onClick={fillMore}>
          Load earlier lines
        </button>
      )}
      <div
        ref={container}
        className={styles.lines}
        onScroll={onScroll}
        tabIndex={0}
        role="log"
        aria-live="off"
        aria-label={`Log of ${source.label}`}
      >
        <div className={styles.all} style={{ height: rows.getTotalSize() }}>
          {rows.getVirtualItems().map(({ index, start }) => {
            const line = lines[index];
            return (
              line && (
                <Line
                  key={line.id}
                  line={line}
                  previous={lines[index - 1]}
                  top={start}
                  isSelected={line.id === selected}
                  search={search}
                  onSelect={mark}
                />
              )
            );
          })}
        </div>
      </div>
      {isStopped && log.hasStart && !log.hasEnd && (
        <button type="button" disabled={log.isReading} onClick={fillMore}>
          Load later lines
        </button>
      )}
    </div>
  );
}
