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
  /** Sends it; what it throws is shown, and the dialog stays. A text that it gives is the address to go to. */
  onSubmit: (values: Values) => Promise<unknown>;
  onClose: () => void;
}

/** Asks for a few things and sends them. It is open as long as it is shown. */
export function FormDialog({ title, verb, fields, children, more, onSubmit, onClose }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  const [values, setValues] = useState<Values>(() =>
    Object.fromEntries(fields.map(({ name, value }) => [name, value ?? ""])),
  );
  const navigate = useNavigate();
  const send = useMutation({
    mutationFn: onSubmit,
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
        {send.error && <ErrorPanel error={send.error} />}
        <div className={styles.buttons}>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="primary" disabled={send.isPending}>
            {verb}
          </button>
        </div>
      </form>
    </dialog>
  );
}
