// The terminal emulator with its style: a chunk of its own.
import "@xterm/xterm/css/xterm.css";

export { FitAddon } from "@xterm/addon-fit";
export { Terminal } from "@xterm/xterm";
export { makeStyledDocument } from "./styledDocument";
