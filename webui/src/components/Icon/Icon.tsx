import type { ReactNode } from "react";
import styles from "./Icon.module.css";

// Drawn on a square of 16 by 16, because not every font has a character for each of them.
const shapes = {
  logo: <path d="M8 1.5 14.5 8 8 14.5 1.5 8Z" fill="currentColor" />,
  home: <path d="M2 7.5 8 2.5l6 5M3.5 6.5v7h9v-7M6.5 13.5v-4h3v4" />,
  experiments: <path d="M6 2h4M6.75 2v4.5L2.5 14h11L9.25 6.5V2M4.75 10.5h6.5" />,
  tasks: <path d="M2 2.5h12v11H2ZM4.5 6l2 2-2 2M8 10.5h3.5" />,
  cluster: (
    <path d="M2.5 2.5h11v4.5h-11ZM2.5 9h11v4.5h-11ZM5 4.75h.5M5 11.25h.5M8 4.75h3M8 11.25h3" />
  ),
  models: <path d="M8 1.75 13.5 4.75v6.5L8 14.25 2.5 11.25v-6.5ZM2.5 4.75 8 8l5.5-3.25M8 8v6.25" />,
  workspaces: <path d="M2 13V3.5h4.5l1.5 2h6V13Z" />,
  admin: (
    <>
      <circle cx="8" cy="8" r="2.25" />
      <circle cx="8" cy="8" r="4.5" />
      <path d="M8 1v2.5M8 12.5v2.5M1 8h2.5M12.5 8h2.5M3.05 3.05l1.77 1.77M11.18 11.18l1.77 1.77M3.05 12.95l1.77-1.77M11.18 4.82l1.77-1.77" />
    </>
  ),
  system: (
    <>
      <circle cx="8" cy="8" r="5.5" />
      <path d="M8 2.5a5.5 5.5 0 0 0 0 11Z" fill="currentColor" />
    </>
  ),
  light: (
    <>
      <circle cx="8" cy="8" r="2.75" />
      <path d="M8 1v2M8 13v2M1 8h2M13 8h2M3.05 3.05l1.41 1.41M11.54 11.54l1.41 1.41M3.05 12.95l1.41-1.41M11.54 4.46l1.41-1.41" />
    </>
  ),
  dark: <path d="M13.5 9.75A6 6 0 0 1 6.25 2.5a6 6 0 1 0 7.25 7.25Z" />,
  copy: <path d="M6 5.5h7.5V14H6ZM3.5 10.5h-1V2H10v1.5" />,
  close: <path d="m3.5 3.5 9 9M12.5 3.5l-9 9" />,
  up: <path d="M8 13.5v-11M3.5 7 8 2.5 12.5 7" />,
  down: <path d="M8 2.5v11M3.5 9 8 13.5 12.5 9" />,
  previous: <path d="m4 10 4-4 4 4" />,
  next: <path d="m4 6 4 4 4-4" />,
  grip: (
    <path
      d="M5 3h1.5v1.5H5ZM9.5 3H11v1.5H9.5ZM5 7.25h1.5v1.5H5ZM9.5 7.25H11v1.5H9.5ZM5 11.5h1.5V13H5ZM9.5 11.5H11V13H9.5Z"
      fill="currentColor"
      stroke="none"
    />
  ),
  // States
  dot: <circle cx="8" cy="8" r="5" fill="currentColor" stroke="none" />,
  check: <path d="m2.5 8.5 3.5 4 7.5-9" strokeWidth="2" />,
  quarter: (
    <>
      <circle cx="8" cy="8" r="5.25" />
      <path d="M8 8V2.75A5.25 5.25 0 0 1 13.25 8Z" fill="currentColor" />
    </>
  ),
  pause: <path d="M5.5 3v10M10.5 3v10" strokeWidth="2.5" />,
  cross: <path d="m3.5 3.5 9 9M12.5 3.5l-9 9" strokeWidth="2" />,
  square: <path d="M3.5 3.5h9v9h-9Z" fill="currentColor" stroke="none" />,
  warning: <path d="M8 2 14.5 13.5h-13ZM8 6.5v3M8 11.5v.25" />,
  triangle: <path d="M8 3 13.5 13h-11Z" fill="currentColor" stroke="none" />,
} satisfies Record<string, ReactNode>;

export type IconName = keyof typeof shapes;

interface Props {
  name: IconName;
  /** What the icon says to a screen reader; without it, the text beside the icon must say it. */
  label?: string;
}

/** An icon of the size and colour of the text around it. */
export function Icon({ name, label }: Props) {
  return (
    <svg
      className={styles.icon}
      data-icon={name}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.5"
      strokeLinecap="round"
      strokeLinejoin="round"
      {...(label ? { role: "img", "aria-label": label } : { "aria-hidden": true })}
    >
      {label && <title>{label}</title>}
      {shapes[name]}
    </svg>
  );
}
