import { FieldInput, getOptions } from "../FormDialog/FieldInput";
import { toDraft, explain, FIELDS, toTrigger, type Draft } from "./drafts";
import styles from "./Triggers.module.css";

/** The maximum number of triggers of a webhook in the API. */
const MAX_TRIGGERS = 100;

interface Props {
  drafts: readonly Draft[];
  onChange: (drafts: Draft[]) => void;
}

/** A form for the triggers of a webhook, with an explanation of each. */
export function TriggerList({ drafts, onChange }: Props) {
  return (
    <div className={styles.list}>
      {drafts.map((draft, i) => (
        <fieldset key={draft.key} className={styles.trigger}>
          <legend>Trigger {i + 1}</legend>
          {FIELDS.filter(({ when }) => when === undefined || when(draft.values)).map((field) => (
            <FieldInput
              key={field.name}
              field={field}
              options={getOptions(field, draft.values)}
              value={draft.values[field.name] ?? ""}
              onChange={(value) => {
                const values = { ...draft.values, [field.name]: value };
                onChange(drafts.map((each) => (each === draft ? { ...each, values } : each)));
              }}
            />
          ))}
          <p className={styles.says}>{explain(toTrigger(draft))}</p>
          {drafts.length > 1 && (
            <button
              type="button"
              className={styles.remove}
              onClick={() => onChange(drafts.filter((each) => each !== draft))}
            >
              Remove trigger {i + 1}
            </button>
          )}
        </fieldset>
      ))}
      <button
        type="button"
        className={styles.add}
        disabled={drafts.length >= MAX_TRIGGERS}
        onClick={() => onChange([...drafts, toDraft()])}
      >
        Add trigger
      </button>
    </div>
  );
}
