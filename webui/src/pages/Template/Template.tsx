import { useEffect, useState } from "react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useParams } from "react-router";
import { api, dataOf } from "@/api/client";
import { useRoles } from "@/api/useRoles";
import { Actions } from "@/components/Actions/Actions";
import { ErrorPanel } from "@/components/ErrorPanel/ErrorPanel";
import { useCrumbs } from "@/components/Frame/useCrumbs";
import { Page } from "@/components/Page/Page";
import { paths } from "@/paths";
import { masterProblems, syntaxProblems } from "./problems";
import styles from "./Template.module.css";

// After the last key, so that not every one is a call.
const PAUSE = 300;

/** One template: its text, checked as one types. */
export default function Template() {
  const { name = "" } = useParams();
  useCrumbs([{ label: "Templates", to: paths.templates }, { label: name }]);
  const read = useQuery({
    queryKey: ["templates", name],
    queryFn: async ({ signal }) => {
      const path = { template_name: name };
      const call = api.GET("/api/v1/templates/{template_name}", { params: { path }, signal });
      return (await dataOf(call)).template ?? {};
    },
  });
  if (!read.data)
    return <Page title={name} error={read.error} onRetry={() => void read.refetch()} />;
  return <Editor key={name} name={name} kept={read.data.yaml ?? ""} />;
}

function Editor({ name, kept }: { name: string; kept: string }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const { mayAnywhere } = useRoles();
  const [text, setText] = useState(kept);
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), PAUSE);
    return () => clearTimeout(timer);
  }, [text]);
  const mayEdit = mayAnywhere("Editor");
  const syntax = syntaxProblems(text);
  const check = useQuery({
    queryKey: ["template-check", name, settled],
    enabled: mayEdit && syntaxProblems(settled).length === 0,
    ...{ retry: false, gcTime: 0 },
    queryFn: ({ signal }) => masterProblems(name, settled, signal),
  });
  const isChecked = settled === text && check.data !== undefined;
  const problems = syntax.length > 0 ? syntax : settled === text ? (check.data ?? []) : [];
  const path = { template_name: name };
  const save = async () => {
    await api.PUT("/api/v1/templates/{template_name}", {
      params: { path },
      body: { name, yaml: text },
    });
    await client.invalidateQueries({ queryKey: ["templates"] });
  };
  const remove = async () => {
    await api.DELETE("/api/v1/templates/{template_name}", { params: { path } });
    await navigate(paths.templates);
    client.removeQueries({ queryKey: ["templates", name] });
    await client.invalidateQueries({ queryKey: ["templates"] });
  };
  const isSame = text === kept;
  return (
    <Page
      title={name}
      head={
        mayEdit && (
          <Actions
            actions={[
              {
                ...{ label: "Save", isPrimary: true, run: save },
                refused:
                  (syntax.length > 0 && "The text is no YAML") || (isSame && "Nothing has changed"),
              },
              {
                label: "Revert",
                run: () => setText(kept),
                refused: isSame && "Nothing has changed",
              },
              {
                ...{ label: "Delete", run: remove },
                confirm: `Delete the template ${name}? Experiments that were made with it stay as they are.`,
              },
            ]}
          />
        )
      }
    >
      <textarea
        className={styles.editor}
        aria-label="Template, in YAML"
        aria-invalid={problems.length > 0}
        aria-describedby="template-problems"
        spellCheck={false}
        readOnly={!mayEdit}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <div id="template-problems" role="status">
        {problems.length > 0 && <pre className={styles.problems}>{problems.join("\n")}</pre>}
        {isChecked && problems.length === 0 && "The template is good."}
      </div>
      {check.error && <ErrorPanel error={check.error} />}
    </Page>
  );
}
