import { useState } from "react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { stringify } from "yaml";
import { ApiError } from "@/api/client";
import {
  policiesKey,
  readPolicies,
  removePolicies,
  savePolicies,
  type PolicyScope,
} from "@/api/policies";
import { Actions } from "../Actions/Actions";
import { ErrorPanel } from "../ErrorPanel/ErrorPanel";
import { Section } from "../Page/Page";
import { findSyntaxProblems } from "../YamlEditor/problems";
import { YamlEditor } from "../YamlEditor/YamlEditor";

interface Props {
  scope: PolicyScope;
  /** "the cluster", "vision". */
  of: string;
  mayChange: boolean;
}

// The initial text if there are no policies: only comments.
const EXAMPLE = `# invariant_config:            # overrides the configuration of every experiment
#   resources: {resource_pool: shared}
# constraints:
#   resources: {max_slots: 8}  # per experiment
#   priority_limit: 40         # lowest number allowed; lower numbers run first
`;

/** The config policies of a scope, with an editor if the caller may change them. */
export function Policies({ scope, of, mayChange }: Props) {
  const read = useQuery({
    queryKey: policiesKey(scope),
    queryFn: ({ signal }) => readPolicies(scope, signal),
  });
  if (read.error) return <ErrorPanel error={read.error} onRetry={() => void read.refetch()} />;
  if (!read.data) return null;
  const isNone = Object.keys(read.data).length === 0;
  const kept = isNone ? "" : stringify(read.data);
  // Changes by other users replace the text.
  return <Editor key={kept} scope={scope} of={of} mayChange={mayChange} kept={kept} />;
}

function Editor({ scope, of, mayChange, kept }: Props & { kept: string }) {
  const client = useQueryClient();
  const begin = kept || (mayChange ? EXAMPLE : "");
  const [text, setText] = useState(begin);
  // The problems of the refused text; they do not apply to another text.
  const [refused, setRefused] = useState({ text: "", problems: [] as string[] });
  const syntax = findSyntaxProblems(text);
  const problems = syntax.length > 0 ? syntax : refused.text === text ? refused.problems : [];
  const refresh = () => client.invalidateQueries({ queryKey: policiesKey(scope) });
  const save = async () => {
    try {
      await savePolicies(scope, text);
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 400)) throw error;
      setRefused({ text, problems: error.message.split("\n") });
      return;
    }
    await refresh();
  };
  const isSame = text === begin && "No changes";
  return (
    <Section
      title="Policies for experiments"
      head={
        mayChange && (
          <Actions
            actions={[
              {
                label: "Save",
                isPrimary: true,
                run: save,
                refused: (syntax.length > 0 && "Invalid YAML") || isSame,
              },
              { label: "Revert", run: () => setText(begin), refused: isSame },
              kept !== "" && {
                label: "Delete",
                confirm: `Delete the policies of ${of}? They no longer apply to new experiments.`,
                run: () => removePolicies(scope).then(refresh),
              },
            ]}
          />
        )
      }
    >
      <p>
        Settings enforced on every experiment in {of}. Cluster policies override workspace policies.
      </p>
      {kept === "" && !mayChange ? (
        <p>No policies.</p>
      ) : (
        <YamlEditor
          label={`Policies of ${of} (YAML)`}
          text={text}
          onText={setText}
          isReadOnly={!mayChange}
          problems={problems}
        />
      )}
    </Section>
  );
}
