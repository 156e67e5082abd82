import { useEffect, useRef, useState } from "react";
import { useMutation } from "@tanstack/react-query";
import { save } from "@/charts/export";
import { formatBytes } from "@/charts/format";
import { ErrorPanel } from "../ErrorPanel/ErrorPanel";

interface Props {
  label: string;
  /** What the file will be called. */
  name: string;
  /** How many bytes will come. */
  size: number;
  /** Reads it, and tells how many bytes have come. */
  read: (signal: AbortSignal, onBytes: (bytes: number) => void) => Promise<Blob>;
}

/** A button that reads a large file, tells how far it is, and hands it to the browser. It ends with its page. */
export function Download({ label, name, size, read }: Props) {
  const aborter = useRef<AbortController>(undefined);
  const [bytes, setBytes] = useState(0);
  const download = useMutation({
    mutationFn: async () => {
      aborter.current = new AbortController();
      const { signal } = aborter.current;
      setBytes(0);
      try {
        save(name, await read(signal, setBytes));
      } catch (error) {
        // What one cancels has not failed.
        if (!signal.aborted) throw error;
      }
    },
  });
  useEffect(() => () => aborter.current?.abort(), []);
  return (
    <>
      {download.isPending ? (
        <>
          <progress aria-label={label} value={bytes} max={Math.max(size, 1)} />
          <span>
            {formatBytes(bytes)} of {formatBytes(size)}
          </span>
          <button type="button" onClick={() => aborter.current?.abort()}>
            Cancel
          </button>
        </>
      ) : (
        <button type="button" onClick={() => download.mutate()}>
          {label}
        </button>
      )}
      {download.error && <ErrorPanel error={download.error} />}
    </>
  );
}
