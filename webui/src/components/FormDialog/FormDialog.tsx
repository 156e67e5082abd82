import { useEffect, useId, useRef, useState, type ReactNode, type SyntheticEvent } from "react";
import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "react-router";
import { ErrorPanel } from "../ErrorPanel/ErrorPanel";
import { FieldInput, getOptions, type Field, type Values } from "./FieldInput";
import styles from "./FormDialog.module.css";

interface Props {
  title: string;
  /** The label of the submit button. */
  verb: string;
  fields: Field[];
  /** Content above the fields. */
  children?: ReactNode;
  /** Content below the fields whose values the caller keeps. */
  more?: ReactNode;
  /** Why the form cannot be submitted. */
  problem?: unknown;
  /** Whether the form cannot be submitted for a reason that `more` shows. */
  isBlocked?: boolean;
  /** Called with all values when the user changes one. */
  onChange?: (values: Values) => void;
  /**
   * Submits the form. An error is shown and the dialog stays open; a returned string is the address to go to.
   * `changed` contains only the values that differ from the initial ones: sending only these does not
   * overwrite concurrent changes of other users.
   */
  onSubmit: (values: Values, changed: Values) => Promise<unknown>;
  onClose: () => void;
}

const getChanged = (values: Values, began: Values): Values =>
  Object.fromEntries(Object.entries(values).filter(([name, value]) => value !== began[name]));

/** Replaces the value of a choice whose options, which depend on other values, no longer contain it. */
function settle(fields: readonly Field[], values: Values): Values {
  const settled = { ...values };
  for (const field of fields) {
    if (typeof field.options !== "function") continue;
    const options = field.options(settled);
    if (!options.some(([each]) => each === settled[field.name]))
      settled[field.name] = options[0]?.[0] ?? "";
  }
  return settled;
}

/** A modal form, open while mounted. */
export function FormDialog(props: Props) {
  const { title, verb, fields, children, more, problem, isBlocked = false } = props;
  const { onChange, onSubmit, onClose } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  // Keep the initial values: `fields` may change with updates that the user has not seen.
  const [began] = useState<Values>(() =>
    Object.fromEntries(fields.map(({ name, value }) => [name, value ?? ""])),
  );
  const [values, setValues] = useState(began);
  const shown = settle(fields, values);
  const navigate = useNavigate();
  const send = useMutation({
    mutationFn: (now: Values) => onSubmit(now, getChanged(now, began)),
    onSuccess: (next) => {
      // Replace the dialog's address: Back leads to where it was opened.
      if (typeof next === "string") void navigate(next, { replace: true });
      else onClose();
    },
  });
  useEffect(() => {
    if (!dialog.current?.open) dialog.current?.showModal();
  }, []);
  const change = (name: string, value: string) => {
    const next = { ...values, [name]: value };
    setValues(next);
    onChange?.(settle(fields, next));
  };
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    if (!send.isPending && !isBlocked) send.mutate(shown);
  };
  return (
    <dialog ref={dialog} className={styles.dialog} aria-labelledby={heading} onClose={onClose}>
      <form className={styles.form} onSubmit={submit}>
        <h2 id={heading}>{title}</h2>
        {children}
        {fields
          .filter(({ when }) => when === undefined || when(shown))
          .map((field) => (
            <FieldInput
              key={field.name}
              field={field}
              options={getOptions(field, shown)}
              value={shown[field.name] ?? ""}
              onChange={(value) => change(field.name, value)}
            />
          ))}
        {more}
        {problem !== undefined && <ErrorPanel error={problem} />}
        {send.error && <ErrorPanel error={send.error} />}
        <div className={styles.buttons}>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button
            type="submit"
            className="primary"
            disabled={send.isPending || problem !== undefined || isBlocked}
          >
            {verb}
          </button>
        </div>
      </form>
    </dialog>
  );
}
