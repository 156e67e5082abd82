import { useEffect, useId, useRef, useState, type ReactNode, type SyntheticEvent } from "react";
import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "react-router";
import { ErrorPanel } from "../ErrorPanel/ErrorPanel";
import { FieldInput, type Field, type Values } from "./FieldInput";
import styles from "./FormDialog.module.css";

interface Props {
  title: string;
  /** The verb on its button. */
  verb: string;
  fields: Field[];
  /** Above the fields. */
  children?: ReactNode;
  /** Below the fields: what is asked for and is no single field; its values are the caller's. */
  more?: ReactNode;
  /** Why there is nothing to choose: said in place of what could be sent. */
  problem?: unknown;
  /**
   * Sends it; what it throws is shown, and the dialog stays. A text that it gives is the address to go to.
   * `changed` has those values alone that are others than the dialog began with: who sends no more than
   * them does not undo what somebody else changed meanwhile.
   */
  onSubmit: (values: Values, changed: Values) => Promise<unknown>;
  onClose: () => void;
}

const getChanged = (values: Values, began: Values): Values =>
  Object.fromEntries(Object.entries(values).filter(([name, value]) => value !== began[name]));

/** Asks for a few things and sends them. It is open as long as it is shown. */
export function FormDialog(props: Props) {
  const { title, verb, fields, children, more, problem, onSubmit, onClose } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  // Not what the fields say now: that may be news which the person has not seen.
  const [began] = useState<Values>(() =>
    Object.fromEntries(fields.map(({ name, value }) => [name, value ?? ""])),
  );
  const [values, setValues] = useState(began);
  const navigate = useNavigate();
  const send = useMutation({
    mutationFn: (now: Values) => onSubmit(now, getChanged(now, began)),
    onSuccess: (next) => {
      // In place of the dialog's own address: Back leads to where it was opened.
      if (typeof next === "string") void navigate(next, { replace: true });
      else onClose();
    },
  });
  useEffect(() => {
    if (!dialog.current?.open) dialog.current?.showModal();
  }, []);
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    if (!send.isPending) send.mutate(values);
  };
  return (
    <dialog ref={dialog} className={styles.dialog} aria-labelledby={heading} onClose={onClose}>
      <form className={styles.form} onSubmit={submit}>
        <h2 id={heading}>{title}</h2>
        {children}
        {fields
          .filter(({ when }) => when === undefined || when(values))
          .map((field) => (
            <FieldInput
              key={field.name}
              field={field}
              value={values[field.name] ?? ""}
              onChange={(value) => setValues((now) => ({ ...now, [field.name]: value }))}
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
            disabled={send.isPending || problem !== undefined}
          >
            {verb}
          </button>
        </div>
      </form>
    </dialog>
  );
}
