import { useEffect, useId, useRef, useState } from "react";
import { Icon } from "../Icon/Icon";
import {
  findColumn,
  emptyCondition,
  emptyGroup,
  toField,
  hasValue,
  MAX_DEPTH,
  OPERATORS,
  suggestColumns,
  withColumn,
  type DraftCondition,
  type DraftGroup,
  type DraftNode,
} from "./draft";
import { getTerm, type FilterColumn, type Operator } from "./filter";
import styles from "./FilterBuilder.module.css";
import { operatorToText } from "./sentence";

interface Suggestions {
  columns: readonly FilterColumn[];
  /** Suggests values for a column. */
  suggestValues: (column: string) => readonly string[];
}

interface GroupProps extends Suggestions {
  group: DraftGroup;
  onChange: (group: DraftGroup) => void;
  /** Undefined for the outermost group. */
  onRemove?: () => void;
  depth?: number;
  /** The group was just added: focus its first condition. */
  isNew?: boolean;
}

/** A filter editor with nested groups of conditions. Incomplete conditions do not filter. */
export function FilterBuilder(props: GroupProps) {
  const { group, onChange, onRemove, depth = 1, isNew = false, ...known } = props;
  const { children, conjunction } = group;
  const element = useRef<HTMLFieldSetElement>(null);
  // Focus an added node; after a removal, focus the group.
  const [added, setAdded] = useState(isNew ? children[0]?.id : undefined);
  const change = (at: number, next: DraftNode) =>
    onChange({ ...group, children: children.map((child, i) => (i === at ? next : child)) });
  const remove = (at: number) => {
    onChange({ ...group, children: children.filter((_, i) => i !== at) });
    element.current?.focus();
  };
  const add = (node: DraftNode) => {
    setAdded(node.id);
    onChange({ ...group, children: [...children, node] });
  };
  const addGroup = () => {
    const condition = emptyCondition();
    add({ ...emptyGroup(conjunction === "and" ? "or" : "and"), children: [condition] });
  };
  const which = conjunction === "and" ? "All conditions match" : "Any condition matches";
  return (
    <fieldset ref={element} tabIndex={-1} className={styles.group} aria-label={which}>
      <div className={styles.line}>
        <select
          aria-label="Match"
          value={conjunction}
          onChange={({ target }) =>
            onChange({ ...group, conjunction: target.value === "or" ? "or" : "and" })
          }
        >
          <option value="and">all of</option>
          <option value="or">any of</option>
        </select>
        {onRemove && <Remove what="group" onRemove={onRemove} />}
      </div>
      {children.map((child, i) =>
        child.kind === "group" ? (
          <FilterBuilder
            key={child.id}
            {...known}
            group={child}
            depth={depth + 1}
            isNew={child.id === added}
            onChange={(next) => change(i, next)}
            onRemove={() => remove(i)}
          />
        ) : (
          <Condition
            key={child.id}
            {...known}
            condition={child}
            isNew={child.id === added}
            onChange={(next) => change(i, next)}
            onRemove={() => remove(i)}
          />
        ),
      )}
      <div className={styles.line}>
        <button type="button" onClick={() => add(emptyCondition())}>
          Add condition
        </button>
        <button
          type="button"
          disabled={depth >= MAX_DEPTH}
          title={
            depth >= MAX_DEPTH ? `Groups can be nested up to ${MAX_DEPTH} levels deep` : undefined
          }
          onClick={addGroup}
        >
          Add group
        </button>
      </div>
    </fieldset>
  );
}

function Remove({ what, onRemove }: { what: string; onRemove: () => void }) {
  return (
    <button type="button" className="plain" aria-label={`Remove ${what}`} onClick={onRemove}>
      <Icon name="close" />
    </button>
  );
}

interface ConditionProps extends Suggestions {
  condition: DraftCondition;
  isNew: boolean;
  onChange: (condition: DraftCondition) => void;
  onRemove: () => void;
}

function Condition({
  condition,
  isNew,
  columns,
  suggestValues,
  onChange,
  onRemove,
}: ConditionProps) {
  const { operator, value } = condition;
  const column = findColumn(condition.column, columns);
  const type = column?.type ?? "COLUMN_TYPE_UNSPECIFIED";
  const isWrong = column !== undefined && value !== "" && !toField(condition, columns);
  const what = column ? column.displayName || column.column : "condition";
  return (
    <div className={styles.line} role="group" aria-label={what}>
      <SuggestInput
        label="Column"
        text={condition.column}
        suggestionsFor={(typed) => suggestColumns(typed, columns).map(getTerm)}
        isWrong={condition.column !== "" && !column}
        isFocused={isNew}
        onText={(typed) => onChange(withColumn(condition, typed, columns))}
      />
      <select
        aria-label="Operator"
        value={operator}
        onChange={({ target }) => onChange({ ...condition, operator: target.value as Operator })}
      >
        {OPERATORS[type].map((each) => (
          <option key={each} value={each}>
            {operatorToText(each, type)}
          </option>
        ))}
      </select>
      {hasValue(operator) && (
        <SuggestInput
          label="Value"
          text={value}
          isDate={type === "COLUMN_TYPE_DATE"}
          suggestionsFor={() => (column ? suggestValues(column.column) : [])}
          isWrong={isWrong}
          onText={(typed) => onChange({ ...condition, value: typed })}
        />
      )}
      <Remove what={what} onRemove={onRemove} />
    </div>
  );
}

interface SuggestInputProps {
  label: string;
  text: string;
  suggestionsFor: (typed: string) => readonly string[];
  isWrong: boolean;
  isFocused?: boolean;
  isDate?: boolean;
  /** Called on Enter, on blur, and when a suggestion is chosen. */
  onText: (text: string) => void;
}

function SuggestInput(props: SuggestInputProps) {
  const { label, text, suggestionsFor, isWrong, isFocused = false, isDate = false, onText } = props;
  const id = useId();
  const [typed, setTyped] = useState(text);
  useEffect(() => setTyped(text), [text]);
  const suggestions = suggestionsFor(typed);
  const apply = () => {
    if (typed !== text) onText(typed);
  };
  const isDay = isDate && /^(\d{4}-\d\d-\d\d)?$/.test(typed);
  return (
    <>
      <input
        aria-label={label}
        aria-invalid={isWrong}
        {...(isDay ? { type: "date" } : { list: id, spellCheck: false })}
        autoFocus={isFocused}
        placeholder={label}
        value={typed}
        onChange={({ target }) => {
          setTyped(target.value);
          if (isDay || suggestions.includes(target.value)) onText(target.value);
        }}
        onBlur={apply}
        onKeyDown={(event) => {
          if (event.key !== "Enter") return;
          event.preventDefault();
          apply();
        }}
      />
      <datalist id={id}>
        {suggestions.map((each) => (
          <option key={each} value={each} />
        ))}
      </datalist>
    </>
  );
}
