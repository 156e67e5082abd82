import { useEffect, useRef, useState } from "react";
import { hasEnded, type Task } from "@/api/tasks";
import { CopyText } from "@/components/CopyText/CopyText";
import { EmptyState } from "@/components/EmptyState/EmptyState";
import styles from "./Task.module.css";
import { connectTerminal } from "./terminalSocket";

type Status = "connecting" | "open" | "refused" | "closed" | "not loaded";

interface Props {
  task: Task;
  isReady: boolean;
}

/** The terminal of a shell in the browser. */
export function Terminal({ task, isReady }: Props) {
  if (hasEnded(task.state)) return <EmptyState>The shell has ended.</EmptyState>;
  if (!isReady) return <EmptyState>The terminal opens as soon as the shell is ready.</EmptyState>;
  return <Screen taskId={task.id} />;
}

function Screen({ taskId }: { taskId: string }) {
  const element = useRef<HTMLDivElement>(null);
  const [status, setStatus] = useState<Status>("connecting");
  const [attempt, setAttempt] = useState(1);
  useEffect(() => {
    const aborter = new AbortController();
    setStatus("connecting");
    if (element.current)
      openTerminal(element.current, taskId, aborter.signal, setStatus).catch(
        () => aborter.signal.aborted || setStatus("not loaded"),
      );
    return () => aborter.abort();
  }, [taskId, attempt]);
  const isOver = status !== "connecting" && status !== "open";
  return (
    <div className={styles.terminal}>
      {isOver && (
        <div className={styles.closed} role="status">
          <span>{MESSAGES[status]}</span>
          {status === "refused" && <CopyText text={`det shell open ${taskId}`} />}
          <button type="button" onClick={() => setAttempt(attempt + 1)}>
            Connect again
          </button>
        </div>
      )}
      <div
        ref={element}
        className={styles.screen}
        hidden={status === "refused" || status === "not loaded"}
      />
    </div>
  );
}

const MESSAGES: Record<Exclude<Status, "connecting" | "open">, string> = {
  refused: "This shell has no terminal for the browser. Log in with:",
  closed: "The connection to the shell is closed.",
  "not loaded": "The terminal could not be loaded. Check the network connection.",
};

/** Shows the terminal of a shell in `element` until the signal is aborted. */
async function openTerminal(
  element: HTMLElement,
  taskId: string,
  signal: AbortSignal,
  onStatus: (status: Status) => void,
) {
  // Large, and only for shells.
  const { FitAddon, makeStyledDocument, Terminal: Xterm } = await import("./xterm");
  signal.throwIfAborted();
  const terminal = new Xterm({
    cursorBlink: true,
    documentOverride: makeStyledDocument(),
    fontFamily: getComputedStyle(element).getPropertyValue("--mono"),
    fontSize: 13,
    screenReaderMode: true,
    theme: { background: "#0b0d10", foreground: "#ededf0" },
  });
  const fit = new FitAddon();
  terminal.loadAddon(fit);
  terminal.open(element);
  fit.fit();
  const connection = connectTerminal(taskId, {
    onOpen: () => {
      connection.resize(terminal.cols, terminal.rows);
      onStatus("open");
      terminal.focus();
    },
    onData: (bytes) => terminal.write(bytes),
    onClose: (wasOpen) => onStatus(wasOpen ? "closed" : "refused"),
  });
  terminal.onData((text) => connection.type(text));
  terminal.onResize(({ cols, rows }) => connection.resize(cols, rows));
  const observer = new ResizeObserver(() => fit.fit());
  observer.observe(element);
  signal.addEventListener("abort", () => {
    observer.disconnect();
    connection.close();
    terminal.dispose();
  });
}
