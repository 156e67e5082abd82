import { useId, type HTMLInputTypeAttribute } from "react";
import { CheckList, type Option } from "./CheckList";
import styles from "./FormDialog.module.css";

/** Field values by name; "yes" or "" for a checkbox; "1,2" for the selected options of "checks". */
export type Values = Record<string, string>;

/** A field of a dialog. */
export interface Field {
  name: string;
  label: string;
  /** Default: "text". */
  type?: HTMLInputTypeAttribute | "lines" | "choice" | "check" | "checks";
  /** The initial value. */
  value?: string | undefined;
  required?: boolean;
  hint?: string;
  /** The options of a choice or of checks; those of a choice may depend on other values. */
  options?: readonly Option[] | ((values: Values) => readonly Option[]);
  /** Shows the field only if this returns true. */
  when?: (values: Values) => boolean;
  /** A regular expression that the whole value must match. */
  pattern?: string;
}

/** The options of a field, given the values of all fields. */
export const getOptions = ({ options = [] }: Field, values: Values): readonly Option[] =>
  typeof options === "function" ? options(values) : options;

interface Props {
  field: Field;
  /** The field's options. */
  options: readonly Option[];
  value: string;
  onChange: (value: string) => void;
}

/** An input with label and hint. */
export function FieldInput({ field, options, value, onChange }: Props) {
  const id = useId();
  const { label, type = "text", required = false, hint, pattern } = field;
  const common = {
    id,
    value,
    required,
    ...(hint && { "aria-describedby": `${id}-hint` }),
    onChange: (event: { target: { value: string } }) => onChange(event.target.value),
  };
  if (type === "check") {
    return (
      <label className={styles.check}>
        <input
          type="checkbox"
          checked={value === "yes"}
          onChange={(event) => onChange(event.target.checked ? "yes" : "")}
        />
        {label}
      </label>
    );
  }
  if (type === "checks")
    return <CheckList label={label} options={options} value={value} onChange={onChange} />;
  return (
    <div className={styles.field}>
      <label htmlFor={id}>{label}</label>
      {type === "lines" ? (
        <textarea {...common} />
      ) : type === "choice" ? (
        <select {...common}>
          {options.map(([each, words]) => (
            <option key={each} value={each}>
              {words}
            </option>
          ))}
        </select>
      ) : (
        <input
          {...common}
          type={type}
          {...(pattern && { pattern })}
          {...(type === "number" && { min: 0, step: "any" })}
          {...(type === "password" && { autoComplete: "new-password" })}
        />
      )}
      {hint && (
        <span id={`${id}-hint`} className={styles.hint}>
          {hint}
        </span>
      )}
    </div>
  );
}
