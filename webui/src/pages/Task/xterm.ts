// The terminal emulator with its style: a separate chunk.
import "@xterm/xterm/css/xterm.css";

export { FitAddon } from "@xterm/addon-fit";
export { Terminal } from "@xterm/xterm";
export { makeStyledDocument } from "./styledDocument";
