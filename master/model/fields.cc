#include "master/model/fields.h"

#include <algorithm>
#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/check.h"

namespace det::model {
namespace {

using Role = Field::Role;

// A configuration in which every list has an item to look at.
ExperimentConfig& Scratch() {
  static ExperimentConfig* const scratch = [] {
    auto* config = new ExperimentConfig;
    for (const Field& field : Fields()) {
      if (field.role != Role::kList) continue;
      const FieldTarget target = field.target(*config, 0);
      const auto& list = std::get<ListTarget>(target);
      if (list.size(list.list) == 0) list.resize(list.list, 1);
    }
    return config;
  }();
  return *scratch;
}

// The table by path, and by the path around it with its dot.
struct Index {
  std::unordered_map<std::string_view, const Field*> by_path;
  std::unordered_map<std::string_view, std::vector<const Field*>> below;
};

const Index& Indexes() {
  static const auto* const index = [] {
    auto* made = new Index;
    for (const Field& field : Fields()) {
      const std::string_view path = field.path;
      made->by_path.emplace(path, &field);
      made->below[path.substr(0, path.rfind('.') + 1)].push_back(&field);
    }
    return made;
  }();
  return *index;
}

// Without an exponent.
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
  std::string operator()(std::string*) const { return "a string"; }
  std::string operator()(std::vector<std::string>*) const { return "a list of strings"; }
  std::string operator()(std::vector<int64_t>*) const {
    return absl::StrCat("a list of integers", Range(field));
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
  std::string operator()(MetricTarget) const {
    return "a name, or a list of names and of {name, smaller_is_better}";
  }
  std::string operator()(ChoiceTarget) const { return "a string"; }
  std::string operator()(ListTarget) const { return "a list of maps"; }
};

}  // namespace

std::span<const Field> Fields() {
  static const auto* const all = [] {
    auto* fields = new std::vector<Field>;
    for (const auto part :
         {GeneralFields(), SearcherFields(), TrainingFields(), TaskFields(), ExtraFields()}) {
      fields->insert(fields->end(), part.begin(), part.end());
    }
    return fields;
  }();
  return *all;
}

const Field* FindField(std::string_view path) {
  const auto found = Indexes().by_path.find(path);
  return found == Indexes().by_path.end() ? nullptr : found->second;
}

const std::vector<const Field*>& FieldsAt(std::string_view path) {
  static const auto* const none = new std::vector<const Field*>;
  const auto found = Indexes().below.find(path);
  return found == Indexes().below.end() ? *none : found->second;
}

const Field* KindField(std::string_view path) {
  if (path.starts_with("searcher.")) return FindField("searcher.name");
  if (path.starts_with("checkpoint_storage.")) return FindField("checkpoint_storage.type");
  return nullptr;
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

bool AppliesTo(const Field& field, const ExperimentConfig& config) {
  if (field.only_for == nullptr) return true;
  const Field* kind = KindField(field.path);
  DET_CHECK(kind != nullptr);
  const Value value = FieldValue(*kind, config);
  return value.AsString() != nullptr && IsAmong(field.only_for, *value.AsString());
}

bool IsMap(const Field& field) {
  if (field.role == Role::kSection) return true;
  if (field.role != Role::kValue) return false;
  const FieldTarget target = TypeOf(field);
  return std::holds_alternative<Value*>(target) || std::holds_alternative<SearchSpace*>(target) ||
         std::holds_alternative<std::map<std::string, int64_t>*>(target);
}

FieldTarget TypeOf(const Field& field) { return field.target(Scratch(), 0); }

std::string Expected(const Field& field) {
  switch (field.shape) {
    case Field::Shape::kImages:
      return "an image, or a map of images for cpu, cuda, rocm";
    case Field::Shape::kVariables:
      return "a list of NAME=value, or a map of such lists for cpu, cuda, rocm";
    case Field::Shape::kDevices:
      return "a list of maps or of \"host:container[:mode]\"";
    default:
      break;
  }
  if (field.role == Role::kList) return "a list of maps";
  if (field.role != Role::kValue) return "a map";
  if (field.choices != nullptr) {
    const std::vector<std::string> words = SplitWords(field.choices);
    return absl::StrCat(words.size() == 1 ? "" : "one of ", absl::StrJoin(words, ", "));
  }
  return std::visit(ExpectedText{field}, TypeOf(field));
}

}  // namespace det::model
