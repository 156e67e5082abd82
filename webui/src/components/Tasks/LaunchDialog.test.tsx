import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import type { LaunchedKind } from "@/api/tasks";
import { showPage, type Answers } from "@/testing/pages";
import { NOTEBOOK_ID, taskAnswers } from "@/testing/tasks";
import { LaunchDialog } from "./LaunchDialog";

type Props = Partial<Parameters<typeof LaunchDialog>[0]>;

const launched = {
  notebook: { id: NOTEBOOK_ID },
  config: { resources: { slots: 2 }, description: "explore" },
};

function show(kind: LaunchedKind, answers: Answers = {}, props: Props = {}) {
  const Page = () => <LaunchDialog kind={kind} onClose={() => undefined} {...props} />;
  return showPage(Page, "/tasks", "/tasks", { ...taskAnswers, ...answers });
}

/** The bodies of the calls that launch, or of the previews. */
const getBodies = (page: ReturnType<typeof showPage>, isPreview: boolean) =>
  page.calls
    .filter(({ what }) => what.startsWith("POST"))
    .map(({ body }) => body as { preview?: boolean })
    .filter(({ preview = false }) => preview === isPreview);

test("launches a notebook from the fields and the configuration, and leads to it", async () => {
  const page = show("notebook", { "POST /api/v1/notebooks": launched });
  await userEvent.type(await screen.findByLabelText("Name"), "explore");
  await userEvent.selectOptions(screen.getByLabelText("Template"), "small");
  await userEvent.selectOptions(screen.getByLabelText("Pool"), "default");
  await userEvent.type(screen.getByLabelText("Slots"), "2");
  await userEvent.type(screen.getByLabelText("Configuration (YAML)"), "idle_timeout: 30m");
  expect(await screen.findByText("Configuration is valid.")).toBeVisible();
  expect(screen.getByLabelText("Complete configuration")).toHaveTextContent("slots: 2");
  await userEvent.click(screen.getByRole("button", { name: "Launch" }));
  await waitFor(() =>
    expect(page.router.state.location.pathname).toBe(`/tasks/${NOTEBOOK_ID}/open`),
  );
  const request = {
    workspaceId: 7,
    templateName: "small",
    configYaml: "idle_timeout: 30m",
    configPath: "configuration",
    configOverrides: [
      'description="explore"',
      'resources.resource_pool="default"',
      "resources.slots=2",
    ],
  };
  expect(getBodies(page, false)).toEqual([request]);
  expect(getBodies(page, true).at(-1)).toEqual({ ...request, preview: true });
});

test("shows the problems of the configuration and does not launch", async () => {
  const page = show("notebook", {
    "POST /api/v1/notebooks": new Error(
      "failed to prepare launch params: configuration:1: colour: unknown field\nsecond problem",
    ),
  });
  const editor = await screen.findByLabelText("Configuration (YAML)");
  await userEvent.type(editor, "colour: red");
  expect(await screen.findByText(/^configuration:1: colour: unknown field/)).toHaveTextContent(
    /second problem$/,
  );
  expect(editor).toHaveAttribute("aria-invalid", "true");
  expect(screen.getByRole("button", { name: "Launch" })).toBeDisabled();
  await userEvent.clear(editor);
  await userEvent.type(editor, "a: 'b");
  expect(screen.getByText(/^1: Missing closing/)).toBeVisible();
  expect(getBodies(page, false)).toEqual([]);
});

test("runs the command line of a command by a shell and leads to its log", async () => {
  const page = show("command", {
    "POST /api/v1/commands": { command: { id: "c-1" }, config: {} },
  });
  await userEvent.type(await screen.findByLabelText("Command line"), "echo a; exit 3");
  await userEvent.click(screen.getByRole("button", { name: "Launch" }));
  await waitFor(() => expect(page.router.state.location.pathname).toBe("/tasks/c-1/logs"));
  expect(getBodies(page, false)).toEqual([{ workspaceId: 7, words: ["echo a; exit 3"] }]);
});

test("launches a TensorBoard only with something to show", async () => {
  const page = show("tensorboard", {
    "POST /api/v1/tensorboards": { tensorboard: { id: "t-1" }, config: {} },
  });
  const button = await screen.findByRole("button", { name: "Launch" });
  expect(button).toBeDisabled();
  await userEvent.type(screen.getByLabelText("Experiments"), "42, x");
  expect(button).toBeDisabled();
  await userEvent.type(screen.getByLabelText("Experiments"), "{backspace}43");
  await userEvent.type(screen.getByLabelText("Trials"), "7");
  await userEvent.click(button);
  await waitFor(() => expect(page.router.state.location.pathname).toBe("/tasks/t-1/open"));
  expect(getBodies(page, false)).toEqual([
    { workspaceId: 7, experimentIds: [42, 43], trialIds: [7] },
  ]);
});

test("sends the files of a context directory with the launch only", async () => {
  const files = [{ path: "a.py", type: 48, content: "eA==" }];
  const page = show(
    "notebook",
    { "POST /api/v1/notebooks": launched },
    { readFiles: () => Promise.resolve(files), note: "Files of 42", values: { name: "n" } },
  );
  expect(await screen.findByText("Files of 42")).toBeVisible();
  await screen.findByText("Configuration is valid.");
  await userEvent.click(screen.getByRole("button", { name: "Launch" }));
  await waitFor(() => expect(getBodies(page, false)).toHaveLength(1));
  expect(getBodies(page, false)[0]).toMatchObject({ files, configOverrides: ['description="n"'] });
  expect(getBodies(page, true)[0]).not.toHaveProperty("files");
});
