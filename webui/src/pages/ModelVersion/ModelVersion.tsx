import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "react-router";
import { readArchive } from "@/api/checkpointFiles";
import { api, unwrap } from "@/api/client";
import type { Message } from "@/api/types";
import { usePermissions } from "@/api/usePermissions";
import { formatBytes, formatNumber } from "@/charts/format";
import { Actions } from "@/components/Actions/Actions";
import { CopyText } from "@/components/CopyText/CopyText";
import { Download } from "@/components/Download/Download";
import { FormDialog } from "@/components/FormDialog/FormDialog";
import { useCrumbs } from "@/components/Frame/useCrumbs";
import { Markdown } from "@/components/Markdown/Markdown";
import { Facts, Labels, Page, Section } from "@/components/Page/Page";
import { useDialog } from "@/components/Page/useParam";
import { State } from "@/components/State/State";
import { Time } from "@/components/Time/Time";
import { paths } from "@/paths";
import { parseOptionalList } from "@/text";

type Version = Message["ModelVersion"];

/** A version of a model and its checkpoint. */
export default function ModelVersion() {
  const { name = "", version: text = "" } = useParams();
  const read = useQuery({
    queryKey: ["models", name, "versions", text],
    queryFn: async ({ signal }) => {
      const path = { model_name: name, model_version_num: Number(text) };
      const { modelVersion = {} } = await unwrap(
        api.GET("/api/v1/models/{model_name}/versions/{model_version_num}", {
          params: { path },
          signal,
        }),
      );
      return modelVersion;
    },
  });
  const title = `Version ${text}`;
  useCrumbs([
    { label: "Models", to: paths.models },
    { label: read.data?.model?.name ?? name, to: paths.model(name) },
    { label: title },
  ]);
  if (!read.data)
    return <Page title={title} error={read.error} onRetry={() => void read.refetch()} />;
  return <VersionDetails version={read.data} />;
}

function VersionDetails({ version: of }: { version: Version }) {
  const { model, checkpoint = {}, version = 0 } = of;
  const client = useQueryClient();
  const navigate = useNavigate();
  const { may } = usePermissions();
  const [dialog, setDialog] = useDialog();
  const name = model?.name ?? "";
  const params = { path: { model_name: name, model_version_num: version } };
  const refresh = () => client.invalidateQueries({ queryKey: ["models"] });
  const { trialId = 0, experimentId = 0, searcherMetric } = checkpoint.training ?? {};
  const uuid = checkpoint.uuid ?? "";
  const refused = model?.archived && "The model is archived; unarchive it first";
  return (
    <Page
      title={`${name}, version ${version}`}
      head={
        <>
          <Labels labels={of.labels} />
          {may("EDIT_MODEL_REGISTRY", model?.workspaceId) && (
            <Actions
              actions={[
                { label: "Edit", run: () => setDialog("edit"), refused },
                may("DELETE_OTHER_USER_MODEL_VERSION", model?.workspaceId, of.userId) && {
                  label: "Delete",
                  refused,
                  confirm: `Delete version ${version} of ${name}? The version number is not reused. The checkpoint is kept until it is deleted itself.`,
                  run: async () => {
                    await api.DELETE("/api/v1/models/{model_name}/versions/{model_version_num}", {
                      params,
                    });
                    await navigate(paths.model(name));
                    await refresh();
                  },
                },
              ]}
            />
          )}
        </>
      }
    >
      {of.comment && <p>{of.comment}</p>}
      <Facts
        facts={[
          ["Name", of.name],
          ["Registered by", of.username],
          ["Registered", <Time key="" at={of.creationTime} />],
          ["Last modified", <Time key="" at={of.lastUpdatedTime} />],
        ]}
      />
      <Section title="Checkpoint">
        <Facts
          facts={[
            ["UUID", <CopyText key="" text={uuid} />],
            ["State", <State key="" state={checkpoint.state} />],
            ["Size", formatBytes(Number(checkpoint.size ?? 0))],
            ["Saved", <Time key="" at={checkpoint.reportTime} />],
            [
              "Trial",
              trialId ? (
                <Link to={paths.trial(trialId, "checkpoints")}>{`trial ${trialId}`}</Link>
              ) : (
                ""
              ),
            ],
            [
              "Experiment",
              experimentId ? (
                <Link to={paths.experiment(experimentId)}>{`experiment ${experimentId}`}</Link>
              ) : (
                ""
              ),
            ],
            ["Metric", formatNumber(searcherMetric)],
            ["Location", <code key="">{checkpoint.storagePath}</code>],
          ]}
        />
        <div>
          <CopyText text={`det checkpoint download ${uuid}`} />
        </div>
        {checkpoint.state === "STATE_COMPLETED" && (
          <div>
            <Download
              label="Download"
              name={`${uuid}.tar`}
              size={Number(checkpoint.size ?? 0)}
              read={(signal, onBytes) =>
                readArchive(uuid, checkpoint.resources ?? {}, signal, onBytes)
              }
            />
          </div>
        )}
      </Section>
      {of.notes && (
        <Section title="Notes">
          <Markdown text={of.notes} />
        </Section>
      )}
      {dialog === "edit" && may("EDIT_MODEL_REGISTRY", model?.workspaceId) && (
        <FormDialog
          title={`Edit version ${version} of ${name}`}
          verb="Save"
          onClose={() => setDialog("")}
          fields={[
            { name: "name", label: "Name", value: of.name },
            { name: "comment", label: "Comment", value: of.comment },
            {
              name: "labels",
              label: "Labels",
              value: of.labels?.join(", "),
              hint: "Comma-separated",
            },
            { name: "notes", label: "Notes", type: "lines", value: of.notes, hint: "Markdown" },
          ]}
          onSubmit={async (_, { name: versionName, comment, labels, notes }) => {
            await api.PATCH("/api/v1/models/{model_name}/versions/{model_version_num}", {
              params,
              body: { name: versionName, comment, notes, labels: parseOptionalList(labels) },
            });
            await refresh();
          }}
        />
      )}
    </Page>
  );
}
