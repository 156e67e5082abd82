import { useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "react-router";
import { api } from "@/api/client";
import type { Message } from "@/api/types";
import { projectQueryKey, useProject } from "@/api/useProject";
import { usePermissions } from "@/api/usePermissions";
import { useWorkspaces, workspaceName, type Workspace } from "@/api/useWorkspaces";
import { Actions } from "@/components/Actions/Actions";
import { FormDialog } from "@/components/FormDialog/FormDialog";
import { useCrumbs } from "@/components/Frame/useCrumbs";
import { Facts, Labels, Page } from "@/components/Page/Page";
import { useDialog } from "@/components/Page/useParam";
import { Time } from "@/components/Time/Time";
import { paths } from "@/paths";
import { Notes } from "./Notes";

type ProjectData = Message["Project"];

/** A project: properties and notes. */
export default function Project() {
  const id = Number(useParams()["id"]);
  const [dialog, setDialog] = useDialog();
  const { may } = usePermissions();
  const { data: workspaces } = useWorkspaces();
  const read = useProject(id);
  const project = read.data;
  const workspaceId = project?.workspaceId ?? 0;
  const name = project?.name ?? `Project ${id}`;
  const where = project?.workspaceName || workspaceName(workspaces, workspaceId);
  useCrumbs([
    { label: "Workspaces", to: paths.workspaces },
    ...(project ? [{ label: where, to: paths.workspace(workspaceId) }] : []),
    { label: name },
  ]);
  if (!project) return <Page title={name} error={read.error} onRetry={() => void read.refetch()} />;
  const close = () => setDialog("");
  const mayChange = may("UPDATE_PROJECT", workspaceId, project.userId);
  const { numExperiments = 0, numActiveExperiments = 0, numRuns = 0 } = project;
  return (
    <Page
      title={name}
      id={id}
      head={
        <>
          <Labels labels={project.archived ? ["archived"] : []} />
          {mayChange && <ProjectActions project={project} onDialog={setDialog} />}
        </>
      }
    >
      {project.description && <p>{project.description}</p>}
      <Facts
        facts={[
          [
            "Workspace",
            <Link key="" to={paths.workspace(workspaceId)}>
              {where}
            </Link>,
          ],
          [
            "Experiments",
            <Link key="" to={paths.projectExperiments(id)}>
              {`${numExperiments}, ${numActiveExperiments} active`}
            </Link>,
          ],
          [
            "Trials",
            <Link key="" to={`${paths.projectExperiments(id)}&of=runs`}>
              {numRuns}
            </Link>,
          ],
          ["Last started", <Time key="" at={project.lastExperimentStartedAt} />],
          ["Key", <code key="">{project.key}</code>],
          ["Owner", project.username],
        ]}
      />
      <Notes project={project} mayEdit={may("UPDATE_EXPERIMENT_METADATA", workspaceId)} />
      {mayChange && dialog === "edit" && <Edit project={project} onClose={close} />}
      {mayChange && dialog === "move" && workspaces && (
        <Move project={project} workspaces={workspaces} onClose={close} />
      )}
    </Page>
  );
}

function ProjectActions({
  project,
  onDialog,
}: {
  project: ProjectData;
  onDialog: (name: string) => void;
}) {
  const { id = 0, name = "", workspaceId = 0, userId, archived, immutable } = project;
  const { may } = usePermissions();
  const client = useQueryClient();
  const navigate = useNavigate();
  const params = { params: { path: { id } } };
  const refresh = () => client.invalidateQueries({ queryKey: ["workspaces"] });
  const refused = immutable && "Built-in project; it cannot be changed";
  return (
    <Actions
      actions={[
        { label: "Edit", run: () => onDialog("edit"), refused },
        { label: "Move", run: () => onDialog("move"), refused },
        archived
          ? {
              label: "Unarchive",
              refused,
              run: () => api.POST("/api/v1/projects/{id}/unarchive", params).then(refresh),
            }
          : {
              label: "Archive",
              refused,
              run: () => api.POST("/api/v1/projects/{id}/archive", params).then(refresh),
            },
        may("DELETE_PROJECT", workspaceId, userId) && {
          label: "Delete",
          refused,
          confirm: `Delete the project ${name} with its notes, experiments and their checkpoints?`,
          run: async () => {
            await api.DELETE("/api/v1/projects/{id}", params);
            await navigate(paths.workspace(workspaceId));
            client.removeQueries({ queryKey: projectQueryKey(id) });
            await refresh();
          },
        },
      ]}
    />
  );
}

function Edit({ project, onClose }: { project: ProjectData; onClose: () => void }) {
  const client = useQueryClient();
  return (
    <FormDialog
      title={`Edit ${project.name ?? ""}`}
      verb="Save"
      onClose={onClose}
      fields={[
        { name: "name", label: "Name", required: true, value: project.name },
        { name: "description", label: "Description", value: project.description },
        {
          name: "key",
          label: "Key",
          value: project.key,
          pattern: "[A-Za-z0-9]{1,5}",
          required: true,
          hint: "Up to five letters and digits",
        },
      ]}
      onSubmit={async (_, { name, description, key }) => {
        await api.PATCH("/api/v1/projects/{id}", {
          params: { path: { id: project.id ?? 0 } },
          body: { name: name?.trim(), description, key },
        });
        await client.invalidateQueries({ queryKey: ["workspaces"] });
      }}
    />
  );
}

function Move({
  project,
  workspaces,
  onClose,
}: {
  project: ProjectData;
  workspaces: Workspace[];
  onClose: () => void;
}) {
  const client = useQueryClient();
  const { may } = usePermissions();
  const options = workspaces
    .filter(
      ({ id, archived }) => id !== project.workspaceId && !archived && may("CREATE_PROJECT", id),
    )
    .map(({ id, name = "" }) => [String(id), name] as const);
  return (
    <FormDialog
      title={`Move ${project.name ?? ""}`}
      verb="Move"
      onClose={onClose}
      fields={[
        {
          name: "workspace",
          label: "Destination workspace",
          type: "choice",
          required: true,
          options,
          value: options[0]?.[0],
          hint: "Workspaces that you administer",
        },
      ]}
      onSubmit={async ({ workspace }) => {
        await api.POST("/api/v1/projects/{project_id}/move", {
          params: { path: { project_id: project.id ?? 0 } },
          body: { destinationWorkspaceId: Number(workspace) },
        });
        await client.invalidateQueries({ queryKey: ["workspaces"] });
      }}
    />
  );
}
