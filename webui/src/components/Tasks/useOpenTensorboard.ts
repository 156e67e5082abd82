import { useNavigate } from "react-router";
import { openTensorboard } from "@/api/tasks";
import { paths } from "@/paths";

/** Returns a function that opens a TensorBoard: one of the same source that has not ended, or a new one. */
export function useOpenTensorboard() {
  const navigate = useNavigate();
  return async (source: Parameters<typeof openTensorboard>[0]) => {
    const id = await openTensorboard(source);
    await navigate(paths.openTask(id));
  };
}
