import { Link, useNavigate } from "react-router";
import { api } from "@/api/client";
import type { Experiment } from "@/api/types";
import { explainRefusal, usePermissions, type PermissionName } from "@/api/usePermissions";
import { formatBytes } from "@/charts/format";
import { Actions as Buttons } from "@/components/Actions/Actions";
import { lazyPart } from "@/components/LazyPart/lazyPart";
import { useDialog } from "@/components/Page/useParam";
import { useOpenTensorboard } from "@/components/Tasks/useOpenTensorboard";
import { paths } from "@/paths";
import { formatCount } from "@/text";
import { Edit, Move } from "./Dialogs";
import styles from "./Experiment.module.css";
import { useExperimentAction, type Verb } from "./useExperiment";

const LaunchDialog = lazyPart(() =>
  import("@/components/Tasks/LaunchDialog").then((part) => part.LaunchDialog),
);

const LABELS: Record<Verb, string> = {
  pause: "Pause",
  activate: "Activate",
  cancel: "Cancel",
  kill: "Kill",
  archive: "Archive",
  unarchive: "Unarchive",
};

/** The actions that an experiment's state (without "STATE_") allows. */
export function getVerbs(state: string, isArchived: boolean, isUnmanaged = false): Verb[] {
  if (["COMPLETED", "CANCELED", "ERROR"].includes(state))
    return [isArchived ? "unarchive" : "archive"];
  if (isUnmanaged) return [];
  if (state === "PAUSED") return ["activate", "cancel", "kill"];
  if (state.startsWith("STOPPING")) return ["kill"];
  if (state.startsWith("DELET")) return [];
  return ["pause", "cancel", "kill"];
}

/** The action buttons of the status line. */
export function Actions({ experiment }: { experiment: Experiment }) {
  const id = experiment.id ?? 0;
  const state = (experiment.state ?? "").replace("STATE_", "");
  const isUnmanaged = experiment.unmanaged ?? false;
  const verbs = getVerbs(state, experiment.archived ?? false, isUnmanaged);
  const hasEnded = verbs.includes("archive") || verbs.includes("unarchive");
  const { mutateAsync } = useExperimentAction(id);
  const navigate = useNavigate();
  const permissions = usePermissions();
  const explain = (permission: PermissionName) =>
    explainRefusal(permissions, permission, toScope(experiment));
  const cannotUpdate = explain("UPDATE_EXPERIMENT");
  const cannotEdit = explain("UPDATE_EXPERIMENT_METADATA");
  const cannotDelete = explain("DELETE_EXPERIMENT");
  const cannotLaunch = explain("CREATE_NSC");
  const cannotRead = explain("VIEW_EXPERIMENT_ARTIFACTS");
  const openTensorboard = useOpenTensorboard();
  const [dialog, setDialog] = useDialog();
  const close = () => setDialog("");
  return (
    <div className={styles.actions}>
      <Buttons
        isInline
        actions={[
          ...verbs.map((verb) => ({
            label: LABELS[verb],
            refused: /archive/.test(verb) ? cannotEdit : cannotUpdate,
            run: () => mutateAsync(verb),
            ...(verb === "kill" && {
              confirm: `Kill experiment ${id}? Its trials stop immediately, without a final checkpoint.`,
            }),
          })),
          hasEnded &&
            !isUnmanaged &&
            !experiment.archived && {
              label: "Continue",
              refused: cannotUpdate,
              run: async () => {
                await api.POST("/api/v1/experiments/continue", { body: { id } });
                await navigate(0);
              },
            },
          {
            label: "Open TensorBoard",
            refused: cannotRead,
            run: () =>
              openTensorboard({ experimentIds: [id], workspaceId: experiment.workspaceId }),
          },
          !isUnmanaged && {
            label: "Open notebook",
            refused: cannotLaunch,
            run: () => setDialog("notebook"),
          },
          { label: "Edit", refused: cannotEdit, run: () => setDialog("edit") },
          { label: "Move", refused: cannotDelete, run: () => setDialog("move") },
          (hasEnded || state === "DELETE_FAILED") && {
            label: "Delete",
            refused: cannotDelete,
            confirm: describeDeletion(experiment),
            run: async () => {
              await api.DELETE("/api/v1/experiments/{experiment_id}", {
                params: { path: { experiment_id: id } },
              });
              await navigate(paths.experiments);
            },
          },
        ]}
      />
      {!isUnmanaged && (
        <NewExperimentLinks
          experiment={experiment}
          refused={explainRefusal(permissions, "CREATE_EXPERIMENT")}
        />
      )}
      {!cannotEdit && dialog === "edit" && <Edit experiment={experiment} onClose={close} />}
      {!cannotLaunch && !isUnmanaged && dialog === "notebook" && (
        <LaunchDialog
          kind="notebook"
          note={`The notebook starts in a copy of the files of experiment ${id}.`}
          values={{
            name: `Notebook of experiment ${id}`,
            workspace: String(experiment.workspaceId ?? ""),
          }}
          readFiles={() => readFiles(id)}
          onClose={close}
        />
      )}
      {!cannotDelete && dialog === "move" && <Move experiment={experiment} onClose={close} />}
    </div>
  );
}

// The library that unpacks archives is loaded when it is needed.
async function readFiles(id: number) {
  const { readContextFiles } = await import("@/api/contextFiles");
  return readContextFiles(id);
}

/** Links to the forms for a new experiment from this one. */
function NewExperimentLinks({
  experiment,
  refused,
}: {
  experiment: Experiment;
  refused: string | false;
}) {
  const id = experiment.id ?? 0;
  const ways = [
    ["Fork", paths.experiment(id, "fork")],
    ...((experiment.numTrials ?? 0) > 0
      ? [["New search from best trial", paths.startFrom(id, "search")]]
      : []),
  ] as const;
  if (refused) {
    const none = ways.map(([label = ""]) => ({ label, refused, run: () => undefined }));
    return <Buttons isInline actions={none} />;
  }
  return ways.map(([label, to = ""]) => (
    <Link key={label} className={styles.button} to={to}>
      {label}
    </Link>
  ));
}

const toScope = ({ workspaceId, workspaceName, userId }: Experiment) => ({
  workspaceId,
  workspaceName,
  ownerId: userId,
});

const describeDeletion = ({ id = 0, numTrials = 0, checkpointSize }: Experiment) =>
  `Delete experiment ${id}? This deletes its ${formatCount(numTrials, "trial")}, logs and ` +
  `${formatBytes(Number(checkpointSize ?? 0))} of checkpoints. ` +
  "An experiment with a checkpoint in a registered model cannot be deleted.";
