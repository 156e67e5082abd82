#include "master/core/model/fields_page.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "master/core/model/fields.h"

namespace det::model {
namespace {

using Role = Field::Role;

constexpr char kHead[] = R"(# Experiment configuration

This page is generated from the table of fields in `master/core/model/fields*.cc` by
`bazel run //tools:experiment_config_doc`; a test checks that it is current. `det dev config-schema`
prints the same table as a JSON Schema for editors.

A configuration is one YAML document (JSON is a subset of YAML). These rules apply to all of it:

- `null` is equivalent to omitting a key, except inside `data` and as the value of a hyperparameter.
- Unknown keys are errors, except below `data`. All errors are reported at once, each with its file,
  line and path.
- The configuration is merged from layers, lowest first: the defaults below, the scheduler's default
  priority, the checkpoint storage of the master, that of the workspace, task container defaults, the
  template, your file, `--config a.b.c=value`, and the policies of the workspace and the cluster.
- Maps are merged member by member, hyperparameters only if both are nested; scalars and lists of a
  higher layer replace those of a lower one, unless the table says otherwise. If a higher layer
  chooses another kind of searcher or storage, only fields of that kind are kept.
- `--config key=value` changes your file before it is merged: the value replaces that of the file,
  also a list or a map, and `null` removes a value (a hyperparameter becomes null). Repeat the option
  for several fields. `--config key+=value` appends to the list in the file, `labels+=nightly`, or
  adds to the map there. Where a list is expected, and in `hyperparameters` and `data`, `a,b` is a
  list, also without brackets.
- Numbers may contain underscores (`60_000`); `0x1F`, `0o17` and `0b11` are integers. Times and
  `yes`/`no` are strings. `.inf` and `.nan` are refused.
- A field that this cluster does not support is accepted with a warning if ignoring it is harmless,
  and rejected otherwise. Accepted fields are stored and shown.
)";

constexpr char kHyperparameters[] = R"(
### Hyperparameters

| form | value | points on a grid |
|---|---|---|
| any value except a map; `{type: const, val: x}` | always this value | 1 |
| `{type: int, minval: 1, maxval: 8, count: 4}` | an integer, both bounds included | `count` |
| `{type: double, minval: 0, maxval: 1, count: 3}` | a number between the bounds | `count` |
| `{type: log, base: 10, minval: -4, maxval: -1, count: 4}` | `base` to the power of a number between the bounds; `base` is 10 by default | `count` |
| `{type: categorical, vals: [relu, gelu]}` | one of the values | all of them |
| a map without `type` | further hyperparameters, by name | those of its members |

`count` is required only by the grid searcher. `when` makes a hyperparameter, or a map of them,
conditional: it is present only if all conditions hold. Conditions name other hyperparameters by
their path from the root:

```yaml
hyperparameters:
  optimizer: {type: categorical, vals: [sgd, adam]}
  layers: {type: int, minval: 1, maxval: 4}
  momentum: {type: double, minval: 0, maxval: 1, when: {optimizer: sgd}}
  third: {width: {type: int, minval: 8, maxval: 64}, when: {layers: {minval: 3}}}
  warmup: {type: int, minval: 0, maxval: 9, when: {optimizer: [sgd, adam], layers: {maxval: 2}}}
```

A condition is a value, a list of values, or `{minval, maxval}` (both included, for numbers only).
)";

// Escapes a text for a table cell.
std::string Cell(std::string_view text) {
  return absl::StrReplaceAll(absl::string_view(text.data(), text.size()), {{"|", "\\|"}});
}

std::string Code(std::string_view text) { return absl::StrCat("`", Cell(text), "`"); }

std::string CodeWords(const char* words) {
  std::vector<std::string> codes;
  for (const std::string& word : SplitWords(words)) codes.push_back(Code(word));
  return absl::StrJoin(codes, ", ");
}

std::string TypeCell(const FieldTable& table, const Field& field) {
  if (field.role == Role::kIgnored) {
    return field.default_json == nullptr ? "anything" : Code(field.default_json);
  }
  if (field.choices != nullptr) return CodeWords(field.choices);
  return Cell(table.Expected(field));
}

std::string DefaultCell(const Field& field) {
  if (field.required) return "required";
  if (field.default_json == nullptr) return "";
  const std::string json = field.default_json;
  return json.size() > 40 ? "see notes" : Code(json);
}

std::string MergeNote(const Field& field) {
  switch (field.merge) {
    case Field::Merge::kReplace:
      return "";
    case Field::Merge::kAppend:
      return " Layers are appended, lowest first.";
    case Field::Merge::kByKey:
      return absl::StrCat(" Layers are appended; an item with the same `", field.key,
                          "` is replaced.");
  }
  return "";
}

std::string Notes(const Field& field) {
  std::string notes = Cell(field.description);
  if (field.required_for != nullptr) {
    absl::StrAppend(&notes, " Required for ", CodeWords(field.required_for), ".");
  }
  if (field.only_for != nullptr)
    absl::StrAppend(&notes, " Only for ", CodeWords(field.only_for), ".");
  if (field.removed != nullptr) {
    absl::StrAppend(&notes, " Removed: ", absl::StrJoin(SplitWords(field.removed), "; "), ".");
  }
  absl::StrAppend(&notes, MergeNote(field));
  if (field.secret) absl::StrAppend(&notes, " Secret: never shown.");
  if (field.warning != nullptr) {
    absl::StrAppend(&notes, " *Ignored, with a warning: ", Cell(field.warning), ".*");
  }
  if (field.refusal != nullptr) {
    absl::StrAppend(&notes, " *Refused",
                    field.refused == nullptr ? "" : absl::StrCat(" for ", CodeWords(field.refused)),
                    ": ", Cell(field.refusal), ".*");
  }
  return notes;
}

std::string Row(const FieldTable& table, const Field& field) {
  if (field.role == Role::kRemoved) {
    return absl::StrCat("| ", Code(field.path), " | refused | | ", Notes(field), " |\n");
  }
  return absl::StrCat("| ", Code(field.path), " | ", TypeCell(table, field), " | ",
                      DefaultCell(field), " | ", Notes(field), " |\n");
}

constexpr char kTableHead[] = "\n| field | what | default | notes |\n|---|---|---|---|\n";

bool HasMembers(const Field& field) {
  return field.role == Role::kSection || field.role == Role::kList;
}

// Whether a field is below a top-level field.
bool IsBelow(const Field& field, const Field& top) {
  const std::string_view path = field.path;
  const std::string_view own = top.path;
  return path.size() > own.size() && path.starts_with(own) &&
         (path[own.size()] == '.' || path[own.size()] == '[');
}

}  // namespace

std::string GeneralTable(const FieldTable& table) {
  std::string text = kTableHead;
  for (const Field* field : table.At("")) {
    if (!HasMembers(*field)) text += Row(table, *field);
  }
  return text;
}

std::string SectionTables(const FieldTable& table) {
  std::string text;
  for (const Field* each : table.At("")) {
    const Field& top = *each;
    if (!HasMembers(top)) continue;
    absl::StrAppend(&text, "\n## ", top.path, "\n\n", Notes(top), top.required ? " Required." : "",
                    "\n", kTableHead);
    for (const Field& field : table.fields()) {
      if (IsBelow(field, top)) text += Row(table, field);
    }
  }
  return text;
}

std::string ExperimentConfigPage() {
  const FieldTable& table = ExperimentFields();
  return absl::StrCat(kHead, "\n## General\n", GeneralTable(table), kHyperparameters,
                      SectionTables(table));
}

}  // namespace det::model
