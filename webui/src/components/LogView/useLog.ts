import { useCallback, useEffect, useRef, useState } from "react";
import { useQueryClient } from "@tanstack/react-query";
import { readMessages } from "@/api/messages";
import { watch } from "@/api/stream";
import { useLatest } from "@/useLatest";
import { END, rangesAround, PORTION, portionQuery } from "./prefetch";
import { leavesGaps, logPath, type LogFilters, type LogRange } from "./filters";
import { append, EMPTY, makeWindow, prepend, type LogLine, type LogWindow } from "./window";

// ms between updates with new lines
const FRAME = 100;

/** A window of a log, with functions to move it. */
export interface Log extends LogWindow {
  error: Error | null;
  /** Whether lines are being read: a regular expression in a long log takes seconds. */
  isReading: boolean;
  readOlder: () => Promise<void>;
  readNewer: () => Promise<void>;
  toStart: () => Promise<void>;
  toEnd: () => Promise<void>;
  /** The ID of the next or previous error from a line; undefined if there is none. */
  findError: (fromId: string, isBack: boolean) => Promise<string | undefined>;
}

/**
 * The lines of the log at `path` near a position; at the end also new lines.
 *
 * @param at the ID of the selected line; the end if undefined.
 */
export function useLog(path: string, filters: LogFilters, follow: boolean, at?: string): Log {
  const [shown, setShown] = useState<LogWindow>(EMPTY);
  const [error, setError] = useState<Error | null>(null);
  const [isReading, setReading] = useState(false);
  const [isOver, setOver] = useState(false);
  const aborter = useRef<AbortController>(undefined);
  const isBusy = useRef(false);
  const name = JSON.stringify(filters);
  const hasGaps = leavesGaps(filters);
  const client = useQueryClient();

  const read = useCallback(
    async (range: LogRange): Promise<LogLine[]> => {
      const signal = aborter.current?.signal ?? new AbortController().signal;
      const parsed = JSON.parse(name) as LogFilters;
      const lines = await readMessages<LogLine>(logPath(path, parsed, range), signal);
      return range.isDescending ? lines.reverse() : lines;
    },
    [path, name],
  );
  // Same as `read`, but uses prefetched lines.
  const readFirst = useCallback(
    async (range: LogRange): Promise<LogLine[]> => {
      const signal = aborter.current?.signal;
      const parsed = JSON.parse(name) as LogFilters;
      const lines = await client.query(portionQuery(path, parsed, range));
      signal?.throwIfAborted();
      return range.isDescending ? [...lines].reverse() : lines;
    },
    [client, path, name],
  );
  // One move at a time; a jump cancels a move in progress, whose result is dropped.
  const move = useCallback(async (act: () => Promise<void>, isJump = false) => {
    if (isBusy.current && !isJump) return;
    if (isJump) {
      aborter.current?.abort();
      aborter.current = new AbortController();
    }
    isBusy.current = true;
    setReading(true);
    const mine = aborter.current;
    try {
      await act();
      setError(null);
    } catch (caught) {
      if (!mine?.signal.aborted) setError(caught as Error);
    } finally {
      if (mine === aborter.current) {
        isBusy.current = false;
        setReading(false);
      }
    }
  }, []);

  const toEnd = useCallback(
    (how = read) =>
      move(async () => {
        const lines = await how(END);
        setShown(makeWindow(lines, lines.length < PORTION, true));
      }, true),
    [move, read],
  );
  const toStart = useCallback(
    () =>
      move(async () => {
        const lines = await read({ limit: PORTION });
        setShown(makeWindow(lines, true, lines.length < PORTION));
      }, true),
    [move, read],
  );

  const toLine = useCallback(
    (id: string, how = read) =>
      move(async () => {
        const [before = [], after = []] = await Promise.all(rangesAround(id).map(how));
        const lines = [...before, ...after];
        setShown(makeWindow(lines, before.length < PORTION, after.length < PORTION));
      }, true),
    [move, read],
  );

  const latestAt = useLatest(at);
  useEffect(() => {
    setShown(EMPTY);
    setOver(false);
    const id = latestAt.current;
    void (id === undefined ? toEnd(readFirst) : toLine(id, readFirst));
    return () => aborter.current?.abort();
  }, [toEnd, toLine, readFirst, latestAt]);
  const latestLines = useLatest(shown.lines);
  const last = useRef(at);
  useEffect(() => {
    if (last.current === at) return;
    last.current = at;
    if (at !== undefined && !latestLines.current.some(({ id }) => id === at)) void toLine(at);
  }, [at, toLine, latestLines]);

  const { first: firstId, last: lastId } = shown;
  const latestLastId = useLatest(lastId);
  // The last lines arrive after the task has reached its final state; the master then ends the stream.
  const follows = shown.hasEnd && (follow || !isOver);
  useEffect(() => {
    if (!follows) return;
    const ender = new AbortController();
    let waiting: LogLine[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    const flush = () => {
      timer = undefined;
      const lines = waiting;
      waiting = [];
      setShown((now) => (now.hasEnd ? append(now, lines, true, hasGaps) : now));
    };
    // A new connection resumes after the last line: a log may be long.
    let newest = latestLastId.current;
    const nextPath = () => {
      const range = { follow: true, ...(newest !== undefined && { afterId: newest }) };
      return logPath(path, JSON.parse(name) as LogFilters, range);
    };
    void watch<LogLine>(nextPath, ender.signal, {
      onMessage: (line) => {
        newest = line.id ?? newest;
        waiting.push(line);
        timer ??= setTimeout(flush, FRAME);
      },
      onError: setError,
      onEnd: () => setOver(true),
    });
    return () => {
      ender.abort();
      clearTimeout(timer);
      if (waiting.length > 0) flush();
    };
  }, [follows, path, name, hasGaps, latestLastId]);

  return {
    ...shown,
    error,
    isReading,
    toStart,
    toEnd: () => toEnd(),
    readOlder: () =>
      move(async () => {
        if (shown.hasStart || firstId === undefined) return;
        const lines = await read({ limit: PORTION, isDescending: true, beforeId: firstId });
        setShown((now) => prepend(now, lines, lines.length < PORTION, hasGaps));
      }),
    readNewer: () =>
      move(async () => {
        if (shown.hasEnd || lastId === undefined) return;
        const lines = await read({ limit: PORTION, afterId: lastId });
        setShown((now) => append(now, lines, lines.length < PORTION, hasGaps));
      }),
    findError: async (fromId, isBack) => {
      let found: string | undefined;
      await move(async () => {
        const from = isBack ? { beforeId: fromId, isDescending: true } : { afterId: fromId };
        const [line] = await read({ ...from, limit: 1, isError: true });
        found = line?.id;
      }, true);
      return found;
    },
  };
}
