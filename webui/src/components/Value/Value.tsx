import { formatValue, toExactText } from "@/charts/format";

/** A chosen value, such as a hyperparameter, shortened for reading; its tooltip has every digit. */
export function Value({ value }: { value: unknown }) {
  const text = formatValue(value);
  const exact = value === undefined ? text : toExactText(value);
  return text === exact ? text : <span title={exact}>{text}</span>;
}
