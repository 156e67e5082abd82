import { useEffect, useState } from "react";

// ms after the last key press before a text is validated
const PAUSE = 300;

/** The text as it was when the user last paused. */
export function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), PAUSE);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}
