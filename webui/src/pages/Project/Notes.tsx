import { useQueryClient } from "@tanstack/react-query";
import { api } from "@/api/client";
import type { Message } from "@/api/types";
import { Actions } from "@/components/Actions/Actions";
import { EmptyState } from "@/components/EmptyState/EmptyState";
import { FormDialog } from "@/components/FormDialog/FormDialog";
import { Markdown } from "@/components/Markdown/Markdown";
import { Section } from "@/components/Page/Page";
import { useDialog } from "@/components/Page/useParam";

type Note = Message["Note"];

/** What people wrote about the project, a page each, in Markdown. */
export function Notes({ project, mayEdit }: { project: Message["Project"]; mayEdit: boolean }) {
  const client = useQueryClient();
  const [dialog, setDialog] = useDialog();
  const { id = 0, notes = [] } = project;
  const refused = project.archived && "The project is archived; unarchive it first";
  // "note": a new one; "note-0": the first.
  const place = /^note(-\d+)?$/.exec(dialog) ? Number(dialog.slice(5) || notes.length) : -1;
  const put = async (next: Note[]) => {
    await api.PUT("/api/v1/projects/{project_id}/notes", {
      params: { path: { project_id: id } },
      body: { notes: next },
    });
    await client.invalidateQueries({ queryKey: ["workspaces", "project", id] });
  };
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
        {notes.length === 0 && (
          <EmptyState>
            No notes yet. What is tried here, and why, can be written down as Markdown.
          </EmptyState>
        )}
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
                    ...{ label: "Delete", refused },
                    confirm: `Delete the note ${name}?`,
                    run: () => put(notes.filter((_, each) => each !== i)),
                  },
                ]}
              />
            )
          }
        >
          <Markdown text={contents} />
        </Section>
      ))}
      {mayEdit && place >= 0 && place <= notes.length && (
        <FormDialog
          title={place < notes.length ? "Edit note" : "New note"}
          verb="Save"
          onClose={() => setDialog("")}
          fields={[
            { name: "name", label: "Title", required: true, value: notes[place]?.name },
            {
              ...{ name: "contents", label: "Text", type: "lines" },
              ...{ value: notes[place]?.contents, hint: "Markdown" },
            },
          ]}
          onSubmit={({ name = "", contents = "" }) => {
            const next = [...notes];
            next[place] = { name, contents };
            return put(next);
          }}
        />
      )}
    </>
  );
}
