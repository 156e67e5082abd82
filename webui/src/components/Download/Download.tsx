import { useEffect, useRef, useState } from "react";
import { useMutation } from "@tanstack/react-query";
import { save } from "@/charts/export";
import { formatBytes } from "@/charts/format";
import { ErrorPanel } from "../ErrorPanel/ErrorPanel";

interface Props {
  label: string;
  /** The file name. */
  name: string;
  /** The expected size in bytes, if it is known. */
  size?: number;
  /** Reads the content and reports the number of bytes read. */
  read: (signal: AbortSignal, onBytes: (bytes: number) => void) => Promise<Blob>;
}

/**
 * A button that reads a large file, shows the progress, and saves it. Leaving the page cancels the download.
 */
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
        // A cancelled download is not an error.
        if (!signal.aborted) throw error;
      }
    },
  });
  useEffect(() => () => aborter.current?.abort(), []);
  return (
    <>
      {download.isPending ? (
        <>
          {size === undefined ? (
            <progress aria-label={label} />
          ) : (
            <progress aria-label={label} value={bytes} max={Math.max(size, 1)} />
          )}
          <span>
            {formatBytes(bytes)}
            {size !== undefined && ` of ${formatBytes(size)}`}
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
