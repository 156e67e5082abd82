import { useMemo, useState } from "react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { api } from "@/api/client";
import type { Experiment } from "@/api/types";
import { explainRefusal, usePermissions } from "@/api/usePermissions";
import { Actions } from "@/components/Actions/Actions";
import { EmptyState } from "@/components/EmptyState/EmptyState";
import { ErrorPanel } from "@/components/ErrorPanel/ErrorPanel";
import { toHtml } from "@/components/Markdown/toHtml";
import styles from "./Experiment.module.css";

const OTHERS =
  "Someone else changed the notes while you were editing. Overwrite their changes with yours?";

/** The notes of the experiment, in Markdown. */
export function Notes({ experiment }: { experiment: Experiment }) {
  const id = experiment.id ?? 0;
  const client = useQueryClient();
  const saved = experiment.notes ?? "";
  // The edited text, and the saved text when editing began.
  const [draft, setDraft] = useState<string>();
  const [began, setBegan] = useState("");
  const { workspaceId = 0, workspaceName = "" } = experiment;
  const refused = explainRefusal(usePermissions(), "UPDATE_EXPERIMENT_METADATA", {
    workspaceId,
    workspaceName,
  });
  const keep = useMutation({
    mutationFn: (notes: string) =>
      api.PATCH("/api/v1/experiments/{experiment_id}", {
        params: { path: { experiment_id: id } },
        body: { notes },
      }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ["experiment", id] });
      setDraft(undefined);
    },
  });
  const html = useMemo(() => toHtml(draft ?? saved), [draft, saved]);
  const edit = () => {
    setDraft(saved);
    setBegan(saved);
  };
  const save = (notes: string) => {
    if (notes === began) setDraft(undefined);
    else if (saved === began || confirm(OTHERS)) keep.mutate(notes);
  };
  return (
    <div className={styles.stack}>
      {keep.error && <ErrorPanel error={keep.error} />}
      {draft === undefined ? (
        <Actions isInline actions={[{ label: "Edit", refused, run: edit }]} />
      ) : (
        <>
          <textarea
            className={styles.editor}
            aria-label="Notes (Markdown)"
            value={draft}
            onChange={(event) => setDraft(event.target.value)}
          />
          <div className={styles.choices}>
            <button
              type="button"
              className="primary"
              disabled={keep.isPending}
              onClick={() => save(draft)}
            >
              Save
            </button>
            <button type="button" onClick={() => setDraft(undefined)}>
              Cancel
            </button>
          </div>
        </>
      )}
      {html ? (
        <div className={styles.prose} dangerouslySetInnerHTML={{ __html: html }} />
      ) : (
        <EmptyState>No notes yet. Notes support Markdown.</EmptyState>
      )}
    </div>
  );
}
