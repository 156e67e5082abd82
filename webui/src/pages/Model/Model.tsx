import { useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "react-router";
import { api } from "@/api/client";
import type { Message } from "@/api/types";
import { usePermissions } from "@/api/usePermissions";
import { useWorkspaces, workspaceName } from "@/api/useWorkspaces";
import { Actions } from "@/components/Actions/Actions";
import { CopyText } from "@/components/CopyText/CopyText";
import { EmptyState } from "@/components/EmptyState/EmptyState";
import { useCrumbs } from "@/components/Frame/useCrumbs";
import { Markdown } from "@/components/Markdown/Markdown";
import { Facts, Labels, Page, Section } from "@/components/Page/Page";
import { useDialog } from "@/components/Page/useParam";
import { ListTable, type ListColumn } from "@/components/table/ListTable";
import { Time } from "@/components/Time/Time";
import { paths } from "@/paths";
import { formatCount, quote } from "@/text";
import { Edit, Move, Register } from "./Dialogs";
import { useModel } from "./useModel";

type Version = Message["ModelVersion"];

const ARCHIVED = "The model is archived; unarchive it first";

/** A registered model and its versions. */
export default function Model() {
  const { name = "" } = useParams();
  const read = useModel(name);
  useCrumbs([{ label: "Models", to: paths.models }, { label: read.data?.model.name ?? name }]);
  if (!read.data)
    return <Page title={name} error={read.error} onRetry={() => void read.refetch()} />;
  return <ModelDetails {...read.data} />;
}

function ModelDetails({ model, versions }: { model: Message["Model"]; versions: Version[] }) {
  const { name = "", id = 0, workspaceId = 0, archived: isArchived = false } = model;
  const { may } = usePermissions();
  const { data: workspaces } = useWorkspaces();
  const [dialog, setDialog] = useDialog();
  const close = () => setDialog("");
  const mayEdit = may("EDIT_MODEL_REGISTRY", workspaceId);
  const columns: ListColumn<Version>[] = [
    {
      head: "Version",
      minWidth: 88,
      share: 0.5,
      cell: ({ version = 0 }) => <Link to={paths.modelVersion(name, version)}>{version}</Link>,
      sortBy: ({ version }) => version,
    },
    { head: "Name", cell: (each) => each.name, sortBy: (each) => each.name },
    { head: "Comment", share: 2, cell: ({ comment }) => comment },
    { head: "Labels", cell: ({ labels }) => <Labels labels={labels} /> },
    {
      head: "Trial",
      cell: ({ checkpoint }) => {
        const { trialId = 0 } = checkpoint?.training ?? {};
        return trialId ? <Link to={paths.trial(trialId)}>{`trial ${trialId}`}</Link> : "–";
      },
    },
    {
      head: "Checkpoint",
      cell: ({ checkpoint: { uuid = "" } = {} }) => (
        <CopyText text={uuid} label={uuid.slice(0, 8)} />
      ),
    },
    { head: "User", cell: ({ username }) => username, sortBy: ({ username }) => username },
    {
      head: "Registered",
      cell: ({ creationTime }) => <Time at={creationTime} />,
      sortBy: ({ creationTime }) => creationTime,
    },
  ];
  return (
    <Page
      title={name}
      id={id}
      head={
        <>
          <Labels labels={isArchived ? ["archived", ...(model.labels ?? [])] : model.labels} />
          {mayEdit && <ModelActions model={model} onDialog={setDialog} />}
        </>
      }
    >
      {model.description && <p>{model.description}</p>}
      <Facts
        facts={[
          [
            "Workspace",
            <Link key="" to={paths.workspace(workspaceId)}>
              {workspaceName(workspaces, workspaceId)}
            </Link>,
          ],
          ["Owner", model.username],
          ["Created", <Time key="" at={model.creationTime} />],
          ["Last modified", <Time key="" at={model.lastUpdatedTime} />],
          ["ID", id],
          ...Object.entries(model.metadata ?? {}).map(([key, value]): [string, string] => [
            key,
            typeof value === "string" ? value : JSON.stringify(value),
          ]),
        ]}
      />
      {model.notes && (
        <Section title="Notes">
          <Markdown text={model.notes} />
        </Section>
      )}
      <Section title="Versions">
        <ListTable<Version>
          label={`Versions of ${name}`}
          columns={columns}
          rows={versions}
          getId={({ version = 0 }) => version}
          isShort
        >
          <EmptyState command={`det model register-version ${quote(name)} CHECKPOINT_UUID`}>
            No versions yet. Register a checkpoint here or on a trial&apos;s Checkpoints tab.
          </EmptyState>
        </ListTable>
      </Section>
      {mayEdit && dialog === "register" && <Register model={model} onClose={close} />}
      {mayEdit && dialog === "edit" && <Edit model={model} onClose={close} />}
      {mayEdit && dialog === "move" && workspaces && (
        <Move model={model} workspaces={workspaces} onClose={close} />
      )}
    </Page>
  );
}

function ModelActions({
  model,
  onDialog,
}: {
  model: Message["Model"];
  onDialog: (name: string) => void;
}) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const { name = "", numVersions = 0, archived: isArchived, workspaceId, userId } = model;
  const { may } = usePermissions();
  const params = { params: { path: { model_name: name } } };
  const refresh = () => client.invalidateQueries({ queryKey: ["models"] });
  const refused = isArchived && ARCHIVED;
  return (
    <Actions
      actions={[
        {
          label: "Register version",
          isPrimary: true,
          run: () => onDialog("register"),
          refused,
        },
        { label: "Edit", run: () => onDialog("edit"), refused },
        { label: "Move", run: () => onDialog("move"), refused },
        isArchived
          ? {
              label: "Unarchive",
              run: () => api.POST("/api/v1/models/{model_name}/unarchive", params).then(refresh),
            }
          : {
              label: "Archive",
              run: () => api.POST("/api/v1/models/{model_name}/archive", params).then(refresh),
            },
        may("DELETE_OTHER_USER_MODEL_REGISTRY", workspaceId, userId) && {
          label: "Delete",
          confirm: `Delete the model ${name} and its ${formatCount(numVersions, "version")}? Their checkpoints are kept, but garbage collection may then delete them.`,
          run: async () => {
            await api.DELETE("/api/v1/models/{model_name}", params);
            await navigate(paths.models);
            client.removeQueries({ queryKey: ["models", name] });
            await refresh();
          },
        },
      ]}
    />
  );
}
