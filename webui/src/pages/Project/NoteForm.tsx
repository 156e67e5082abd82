import { useState } from "react";
import type { Message } from "@/api/types";
import { FormDialog } from "@/components/FormDialog/FormDialog";

export type Note = Message["Note"];

interface Props {
  /** Undefined for a new note. */
  note: Note | undefined;
  onSave: (opened: Note | undefined, next: Note) => Promise<unknown>;
  onClose: () => void;
}

/** Edits a note's title and text. */
export function NoteForm({ note, onSave, onClose }: Props) {
  // The note when editing began: the user has not seen later changes.
  const [opened] = useState(note);
  return (
    <FormDialog
      title={opened ? "Edit note" : "New note"}
      verb="Save"
      onClose={onClose}
      fields={[
        { name: "name", label: "Title", required: true, value: opened?.name },
        {
          name: "contents",
          label: "Text",
          type: "lines",
          value: opened?.contents,
          hint: "Markdown",
        },
      ]}
      onSubmit={({ name = "", contents = "" }) => onSave(opened, { name, contents })}
    />
  );
}
