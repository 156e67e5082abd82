import { useCallback, useEffect, useRef, useState, type ReactNode } from "react";
import styles from "./Popover.module.css";
import { useEscape } from "./useEscape";

interface Props {
  /** The content of the button. */
  label: ReactNode;
  /** Replaces the style of a plain button. */
  buttonClass?: string | undefined;
  /** How much room the panel has; default "list". */
  size?: "menu" | "list" | "form";
  children: ReactNode | ((close: () => void) => ReactNode);
}

/**
 * A button that opens a panel over the page. Esc, a click outside and `close` close it. The content stays
 * mounted, so that it keeps what was entered.
 */
export function Popover({ label, buttonClass = styles.button, size = "list", children }: Props) {
  const element = useRef<HTMLDetailsElement>(null);
  const button = useRef<HTMLElement>(null);
  const [isOpen, setOpen] = useState(false);
  const close = useCallback(() => {
    if (element.current) element.current.open = false;
  }, []);
  useEscape(isOpen, () => {
    close();
    button.current?.focus();
  });
  useEffect(() => {
    if (!isOpen) return;
    const press = (event: Event) => {
      if (event.target instanceof Node && !element.current?.contains(event.target)) close();
    };
    document.addEventListener("pointerdown", press);
    return () => document.removeEventListener("pointerdown", press);
  }, [isOpen, close]);
  return (
    <details
      ref={element}
      className={styles.popover}
      onToggle={({ target, currentTarget }) => {
        // A list inside reports its own toggles.
        if (target === currentTarget) setOpen(currentTarget.open);
      }}
    >
      <summary ref={button} className={buttonClass}>
        {label}
      </summary>
      <div className={`${styles.panel} ${styles[size]}`}>
        {typeof children === "function" ? children(close) : children}
      </div>
    </details>
  );
}
