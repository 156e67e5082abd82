import { useState } from "react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "react-router";
import { api, unwrap } from "@/api/client";
import type { Message } from "@/api/types";
import { usePermissions } from "@/api/usePermissions";
import { useWorkspaces, workspaceName } from "@/api/useWorkspaces";
import { Actions } from "@/components/Actions/Actions";
import { ErrorPanel } from "@/components/ErrorPanel/ErrorPanel";
import { useCrumbs } from "@/components/Frame/useCrumbs";
import { Facts, Page } from "@/components/Page/Page";
import { useDialog } from "@/components/Page/useParam";
import { findSyntaxProblems } from "@/components/YamlEditor/problems";
import { YamlEditor } from "@/components/YamlEditor/YamlEditor";
import { paths } from "@/paths";
import { useSettled } from "@/useSettled";
import { Move } from "./Move";
import { validateTemplate } from "./problems";

type TemplateData = Message["Template"];

/** A template, with an editor that validates it. */
export default function Template() {
  const { name = "" } = useParams();
  useCrumbs([{ label: "Templates", to: paths.templates }, { label: name }]);
  const read = useQuery({
    queryKey: ["templates", name],
    queryFn: async ({ signal }) => {
      const path = { template_name: name };
      const call = api.GET("/api/v1/templates/{template_name}", { params: { path }, signal });
      return (await unwrap(call)).template ?? {};
    },
  });
  if (!read.data)
    return <Page title={name} error={read.error} onRetry={() => void read.refetch()} />;
  return <Editor key={name} template={{ ...read.data, name }} />;
}

function Editor({ template }: { template: TemplateData }) {
  const { name = "", yaml: kept = "", workspaceId = 0 } = template;
  const client = useQueryClient();
  const navigate = useNavigate();
  const { may } = usePermissions();
  const { data: workspaces } = useWorkspaces();
  const [dialog, setDialog] = useDialog();
  const [text, setText] = useState(kept);
  const settled = useSettled(text);
  const mayEdit = may("UPDATE_TEMPLATES", workspaceId);
  const syntax = findSyntaxProblems(text);
  const check = useQuery({
    queryKey: ["template-check", name, settled],
    enabled: mayEdit && findSyntaxProblems(settled).length === 0,
    retry: false,
    gcTime: 0,
    queryFn: ({ signal }) => validateTemplate(name, settled, signal),
  });
  const isChecked = settled === text && check.data !== undefined;
  const problems = syntax.length > 0 ? syntax : settled === text ? (check.data ?? []) : [];
  const path = { template_name: name };
  const refresh = () => client.invalidateQueries({ queryKey: ["templates"] });
  const save = async () => {
    await api.PUT("/api/v1/templates/{template_name}", {
      params: { path },
      body: { name, yaml: text },
    });
    await refresh();
  };
  const remove = async () => {
    await api.DELETE("/api/v1/templates/{template_name}", { params: { path } });
    await navigate(paths.templates);
    client.removeQueries({ queryKey: ["templates", name] });
    await refresh();
  };
  const isSame = text === kept;
  return (
    <Page
      title={name}
      id={name}
      head={
        mayEdit && (
          <Actions
            actions={[
              {
                label: "Save",
                isPrimary: true,
                run: save,
                refused: (syntax.length > 0 && "Invalid YAML") || (isSame && "No changes"),
              },
              {
                label: "Revert",
                run: () => setText(kept),
                refused: isSame && "No changes",
              },
              { label: "Move", run: () => setDialog("move") },
              may("DELETE_TEMPLATES", workspaceId) && {
                label: "Delete",
                run: remove,
                confirm: `Delete the template ${name}? Experiments created with it do not change.`,
              },
            ]}
          />
        )
      }
    >
      <Facts
        facts={[
          [
            "Workspace",
            <Link key="" to={paths.workspace(workspaceId)}>
              {workspaceName(workspaces, workspaceId)}
            </Link>,
          ],
        ]}
      />
      <YamlEditor
        label="Template (YAML)"
        text={text}
        onText={setText}
        isReadOnly={!mayEdit}
        problems={problems}
        good={isChecked && "Template is valid."}
      />
      {check.error && <ErrorPanel error={check.error} />}
      {dialog === "move" && mayEdit && (
        <Move template={template} onClose={() => setDialog("")} refresh={refresh} />
      )}
    </Page>
  );
}
