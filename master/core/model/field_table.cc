#include "master/core/model/field_table.h"

#include <algorithm>
#include <map>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace det::model {
namespace {

using Role = Field::Role;

// Formats a number without an exponent.
std::string Plain(double number) {
  const auto integer = static_cast<int64_t>(number);
  return static_cast<double>(integer) == number ? absl::StrCat(integer) : absl::StrCat(number);
}

// " >= 0", " from 1 to 99", " > 1".
std::string Range(const Field& field) {
  if (!field.min) return "";
  const bool open = !field.max || *field.max >= 2147483647.0;
  if (open) return absl::StrCat(field.above_min ? " > " : " >= ", Plain(*field.min));
  return absl::StrCat(field.above_min ? " above " : " from ", Plain(*field.min),
                      field.above_min ? " and at most " : " to ", Plain(*field.max));
}

struct ExpectedText {
  const Field& field;
  std::string Integer() const { return absl::StrCat("an integer", Range(field)); }

  std::string operator()(std::monostate) const { return "a map"; }
  std::string operator()(bool*) const { return "true or false"; }
  std::string operator()(int*) const { return Integer(); }
  std::string operator()(int64_t*) const { return Integer(); }
  std::string operator()(uint32_t*) const { return Integer(); }
  std::string operator()(std::optional<int>*) const { return Integer(); }
  std::string operator()(std::optional<int64_t>*) const { return Integer(); }
  std::string operator()(double*) const { return absl::StrCat("a number", Range(field)); }
  std::string operator()(std::optional<double>*) const {
    return absl::StrCat("a number", Range(field));
  }
  std::string operator()(std::string*) const { return "a string"; }
  std::string operator()(std::vector<std::string>*) const { return "a list of strings"; }
  std::string operator()(std::vector<int64_t>*) const {
    return absl::StrCat("a list of integers", Range(field));
  }
  std::string operator()(std::vector<std::vector<int64_t>>*) const {
    return absl::StrCat("a list of lists of integers", Range(field));
  }
  std::string operator()(std::map<std::string, int64_t>*) const {
    return absl::StrCat("a map of integers", Range(field));
  }
  std::string operator()(Length*) const { return "a length such as {batches: 100}"; }
  std::string operator()(std::optional<Length>*) const { return "a length such as {batches: 100}"; }
  std::string operator()(Value*) const { return "a map"; }
  std::string operator()(Entrypoint*) const { return "a string or a list of strings"; }
  std::string operator()(SearchSpace*) const { return "a map"; }
  std::string operator()(VariablesTarget) const { return "a list of NAME=value"; }
  std::string operator()(SizeTarget) const { return "bytes, or a size such as 4g"; }
  std::string operator()(DurationTarget) const {
    return absl::StrCat("seconds", Range(field), ", or a duration such as 90m, 2h, 1d12h");
  }
  std::string operator()(SlotsTarget) const {
    return absl::StrCat(Integer(), ", a part of one device such as 0.5, or {min: 2, max: 8}");
  }
  std::string operator()(MetricTarget) const {
    return "a name, or a list of names and of {name, smaller_is_better}";
  }
  std::string operator()(ChoiceTarget) const { return "a string"; }
  std::string operator()(ListTarget) const { return "a list of maps"; }
};

}  // namespace

FieldTable::FieldTable(std::vector<Field> fields, void* scratch)
    : fields_(std::move(fields)), scratch_(scratch) {
  for (const Field& field : fields_) {
    const std::string_view path = field.path;
    by_path_.emplace(path, &field);
    below_[path.substr(0, path.rfind('.') + 1)].push_back(&field);
    if (field.role != Role::kList) continue;
    const FieldTarget target = field.target(scratch_, 0);
    const auto& list = std::get<ListTarget>(target);
    if (list.size(list.list) == 0) list.resize(list.list, 1);
  }
}

const Field* FieldTable::Find(std::string_view path) const {
  const auto found = by_path_.find(path);
  return found == by_path_.end() ? nullptr : found->second;
}

const std::vector<const Field*>& FieldTable::At(std::string_view path) const {
  static const auto* const none = new std::vector<const Field*>;
  const auto found = below_.find(path);
  return found == below_.end() ? *none : found->second;
}

const Field* FieldTable::GetKindField(std::string_view path) const {
  for (const Field* field : At(path.substr(0, path.rfind('.') + 1))) {
    if (field->kind) return field;
  }
  return nullptr;
}

std::string FieldTable::Expected(const Field& field) const {
  switch (field.shape) {
    case Field::Shape::kImages:
      return "an image, or a map of images for cpu, cuda, rocm";
    case Field::Shape::kVariables:
      return "a list of NAME=value, or a map of such lists for cpu, cuda, rocm";
    case Field::Shape::kDevices:
      return "a list of maps or of \"host:container[:mode]\"";
    case Field::Shape::kCompression:
      return absl::StrCat("true, false, or one of ",
                          absl::StrJoin(SplitWords(field.choices), ", "));
    default:
      break;
  }
  if (field.role == Role::kList) return "a list of maps";
  if (field.role != Role::kValue) return "a map";
  if (field.choices != nullptr) {
    const std::vector<std::string> words = SplitWords(field.choices);
    return absl::StrCat(words.size() == 1 ? "" : "one of ", absl::StrJoin(words, ", "));
  }
  return std::visit(ExpectedText{field}, GetType(field));
}

std::vector<std::string> SplitWords(const char* words) { return absl::StrSplit(words, '|'); }

bool IsAmong(const char* words, std::string_view word) {
  const std::string_view all = words;
  for (size_t begin = 0; begin <= all.size();) {
    const size_t end = std::min(all.find('|', begin), all.size());
    if (all.substr(begin, end - begin) == word) return true;
    begin = end + 1;
  }
  return false;
}

}  // namespace det::model
