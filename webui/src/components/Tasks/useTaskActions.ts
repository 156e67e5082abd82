import { useQueryClient } from "@tanstack/react-query";
import { getKindNoun, hasEnded, killTask, type Task } from "@/api/tasks";
import { explainRefusal, usePermissions, type Permissions } from "@/api/usePermissions";
import type { Action } from "../Actions/Actions";

/** What is lost when a task is killed. */
export const KILL_LOSS = "Unsaved work is lost.";

/** Why the caller cannot kill the task; false if it can be killed. */
export function explainKillRefusal(permissions: Permissions, task: Task): string | false {
  if (hasEnded(task.state)) return "It has ended";
  const permission = task.kind === "generic" ? "UPDATE_EXPERIMENT" : "UPDATE_NSC";
  return explainRefusal(permissions, permission, {
    workspaceId: task.workspaceId,
    ownerId: task.userId,
  });
}

/** Returns the button that kills a task. */
export function useKillAction(): (task: Task) => Action {
  const client = useQueryClient();
  const permissions = usePermissions();
  return (task) => ({
    label: "Kill",
    refused: explainKillRefusal(permissions, task),
    confirm: `Kill ${getKindNoun(task.kind)} "${task.name}"? ${KILL_LOSS}`,
    run: async () => {
      await killTask(task.kind, task.id);
      await client.invalidateQueries({ queryKey: ["tasks"] });
    },
  });
}

/** Whether the task has a page to open: a service, or a terminal. */
export const canOpen = ({ kind, state }: Task): boolean =>
  (kind === "notebook" || kind === "tensorboard" || kind === "shell") && !hasEnded(state);
