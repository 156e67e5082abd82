import { useQueryClient } from "@tanstack/react-query";
import { api } from "@/api/client";
import type { Message } from "@/api/types";
import { projectQueryKey, readProject } from "@/api/useProject";
import { Actions } from "@/components/Actions/Actions";
import { EmptyState } from "@/components/EmptyState/EmptyState";
import { Markdown } from "@/components/Markdown/Markdown";
import { Section } from "@/components/Page/Page";
import { useDialog } from "@/components/Page/useParam";
import { NoteForm, type Note } from "./NoteForm";

/** The index of a note in the current list, which other users may have changed. */
function findNote(seen: Note, notes: readonly Note[]): number {
  const readText = ({ name = "", contents = "" }: Note) => JSON.stringify([name, contents]);
  const index = notes.findIndex((each) => readText(each) === readText(seen));
  if (index >= 0) return index;
  throw new Error(
    `Someone else changed or deleted the note ${seen.name ?? ""} while you were editing; nothing was saved. ` +
      "Copy your text, reopen the note and edit it again.",
  );
}

const replaceNote = (notes: readonly Note[], index: number, by: readonly Note[]): Note[] => [
  ...notes.slice(0, index),
  ...by,
  ...notes.slice(index + 1),
];

/** The notes of the project, in Markdown. */
export function Notes({ project, mayEdit }: { project: Message["Project"]; mayEdit: boolean }) {
  const client = useQueryClient();
  const [dialog, setDialog] = useDialog();
  const { id = 0, notes = [] } = project;
  const refused = project.archived && "The project is archived; unarchive it first";
  // "note": a new one; "note-0": the first.
  const index = /^note(-\d+)?$/.exec(dialog) ? Number(dialog.slice(5) || notes.length) : -1;
  // All notes are written at once: start from the current list to keep other users' changes.
  const change = async (to: (now: readonly Note[]) => Note[]) => {
    const { notes: now = [] } = await readProject(id);
    try {
      await api.PUT("/api/v1/projects/{project_id}/notes", {
        params: { path: { project_id: id } },
        body: { notes: to(now) },
      });
    } finally {
      await client.invalidateQueries({ queryKey: projectQueryKey(id) });
    }
  };
  const save = (opened: Note | undefined, next: Note) =>
    change((now) => (opened ? replaceNote(now, findNote(opened, now), [next]) : [...now, next]));
  return (
    <>
      <Section
        title="Notes"
        head={
          mayEdit && (
            <Actions actions={[{ label: "Add note", run: () => setDialog("note"), refused }]} />
          )
        }
      >
        {notes.length === 0 && <EmptyState>No notes yet. Notes support Markdown.</EmptyState>}
      </Section>
      {notes.map(({ name = "", contents = "" }, i) => (
        <Section
          key={i}
          title={name || `Note ${i + 1}`}
          head={
            mayEdit && (
              <Actions
                actions={[
                  { label: "Edit", run: () => setDialog(`note-${i}`), refused },
                  {
                    label: "Delete",
                    refused,
                    confirm: `Delete the note ${name}?`,
                    run: () =>
                      change((now) => replaceNote(now, findNote({ name, contents }, now), [])),
                  },
                ]}
              />
            )
          }
        >
          <Markdown text={contents} />
        </Section>
      ))}
      {mayEdit && index >= 0 && index <= notes.length && (
        <NoteForm note={notes[index]} onSave={save} onClose={() => setDialog("")} />
      )}
    </>
  );
}
