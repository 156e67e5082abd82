import { paths } from "@/paths";

/** A page that the rail and the palette lead to. */
export interface Place {
  to: string;
  label: string;
  mark: string;
  /** After `g`, the key that goes there. */
  key: string;
}

/** In the rail's order. A page that belongs here adds its line. */
export const places: Place[] = [
  { to: paths.home, label: "Home", mark: "⌂", key: "h" },
  { to: paths.experiments, label: "Experiments", mark: "≡", key: "e" },
  { to: paths.cluster, label: "Cluster", mark: "▦", key: "c" },
];
