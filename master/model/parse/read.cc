// Reads a tree by the table of fields.
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "master/model/parse/fields.h"

namespace det::model {
namespace {

std::optional<int64_t> AsInteger(const ConfigNode& node) {
  if (const int64_t* value = node.scalar.AsInt()) return *value;
  const double* value = node.scalar.AsDouble();
  // 1e3 is an integer, too; 2^53 is where doubles begin to skip some.
  if (value != nullptr && std::floor(*value) == *value && std::abs(*value) < 0x1p53) {
    return static_cast<int64_t>(*value);
  }
  return std::nullopt;
}

bool ReadStrings(const ConfigNode& node, std::vector<std::string>& strings) {
  if (!node.is_list()) return false;
  std::vector<std::string> read;
  for (const ConfigNode& item : node.items) {
    if (item.AsString() == nullptr) return false;
    read.push_back(*item.AsString());
  }
  strings = std::move(read);
  return true;
}

// Puts a node into the place of its field; false where it is not what the field expects.
struct Fill {
  const Field& field;
  const ConfigNode& node;

  template <class T>
  bool Integer(T* out) const {
    const std::optional<int64_t> value = AsInteger(node);
    if (!value || (field.min && *value < *field.min) || (field.max && *value > *field.max)) {
      return false;
    }
    *out = static_cast<T>(*value);
    return true;
  }

  bool Choice(std::string* out) const {
    const std::string* text = node.AsString();
    if (text == nullptr) return false;
    for (const std::string& choice : Split(field.choices)) {
      if (choice == *text) {
        *out = *text;
        return true;
      }
    }
    return false;
  }

  static std::vector<std::string> Split(const char* choices) {
    return absl::StrSplit(choices, '|');
  }

  bool operator()(std::monostate) const { return false; }
  bool operator()(bool* out) const {
    if (node.scalar.AsBool() == nullptr) return false;
    *out = *node.scalar.AsBool();
    return true;
  }
  bool operator()(int* out) const { return Integer(out); }
  bool operator()(int64_t* out) const { return Integer(out); }
  bool operator()(uint32_t* out) const { return Integer(out); }
  bool operator()(std::optional<int>* out) const {
    int value = 0;
    if (!Integer(&value)) return false;
    *out = value;
    return true;
  }
  bool operator()(double* out) const {
    const std::optional<double> value = node.scalar.AsNumber();
    if (!value || (field.min && *value < static_cast<double>(*field.min))) return false;
    *out = *value;
    return true;
  }
  bool operator()(std::string* out) const {
    if (field.choices != nullptr) return Choice(out);
    if (node.AsString() == nullptr) return false;
    *out = *node.AsString();
    return true;
  }
  bool operator()(std::vector<std::string>* out) const { return ReadStrings(node, *out); }
  bool operator()(Length* out) const {
    const ConfigNode* count = &node;
    Length length;
    if (node.is_map()) {
      if (node.members.size() != 1) return false;
      const ConfigMember& member = node.members.front();
      if (member.key == "records") {
        length.unit = Length::Unit::kRecords;
      } else if (member.key == "epochs") {
        length.unit = Length::Unit::kEpochs;
      } else if (member.key != "batches") {
        return false;
      }
      count = &member.value;
    }
    if (!Fill{field, *count}.Integer(&length.count)) return false;
    *out = length;
    return true;
  }
  bool operator()(std::optional<Length>* out) const {
    Length length;
    if (!(*this)(&length)) return false;
    *out = length;
    return true;
  }
  bool operator()(CheckpointPolicy* out) const {
    std::string text;
    if (!Choice(&text)) return false;
    *out = text == "all"    ? CheckpointPolicy::kAll
           : text == "none" ? CheckpointPolicy::kNone
                            : CheckpointPolicy::kBest;
    return true;
  }
  bool operator()(Value* out) const {
    if (!node.is_map()) return false;
    *out = node.ToValue();
    return true;
  }
  bool operator()(Entrypoint* out) const {
    if (const std::string* text = node.AsString()) {
      *out = *text;
      return true;
    }
    std::vector<std::string> argv;
    if (!ReadStrings(node, argv)) return false;
    *out = std::move(argv);
    return true;
  }
  // Has a reader of its own: its problems lie deeper.
  bool operator()(SearchSpace*) const { return node.is_map(); }
  bool operator()(EnvironmentTarget out) const {
    std::vector<std::string> variables;
    if (!ReadStrings(node, variables)) return false;
    for (std::string& variable : variables) {
      if (variable.empty() || variable.front() == '=') return false;
      if (variable.find('=') == std::string::npos) variable += '=';
    }
    *out.variables = std::move(variables);
    return true;
  }
};

class TableReader {
 public:
  TableReader(const ConfigNode& root, ExperimentConfig& config, std::vector<Problem>& problems)
      : root_(root), config_(config), problems_(problems) {}

  // `path` is empty or ends with a dot.
  void ReadMap(const ConfigNode& map, const std::string& path) {
    for (const ConfigMember& member : map.members) {
      const std::string full = path + member.key;
      // A key with a dot inside is no path of ours.
      const Field* field = member.key.find('.') == std::string::npos ? FindField(full) : nullptr;
      if (field == nullptr) {
        Add(member.where, full, absl::StrCat("unknown key; ", Suggest(member.key, KnownAt(path))));
      } else if (!member.value.is_null()) {
        Read(*field, member);
      }
    }
    for (const Field& field : Fields()) {
      if (field.required && IsAt(field, path) && MattersHere(field) &&
          map.Find(std::string_view(field.path).substr(path.size())) == nullptr) {
        Add(map.where, field.path, absl::StrCat("required, but missing. ", field.description));
      }
    }
  }

 private:
  void Add(const std::string& where, std::string path, std::string text) {
    problems_.push_back({where, std::move(path), std::move(text)});
  }

  // Whether the field stands directly below the path.
  static bool IsAt(const Field& field, const std::string& path) {
    const std::string_view own = field.path;
    return own.starts_with(path) && own.find('.', path.size()) == std::string_view::npos;
  }

  static std::vector<std::string> KnownAt(const std::string& path) {
    std::vector<std::string> known;
    for (const Field& field : Fields()) {
      const bool useful = field.role == Field::Role::kValue || field.role == Field::Role::kSection;
      if (useful && IsAt(field, path)) known.emplace_back(field.path + path.size());
    }
    return known;
  }

  bool MattersHere(const Field& field) const {
    if (field.searcher == nullptr) return true;
    const ConfigNode* name = root_.FindPath("searcher.name");
    return name != nullptr && name->AsString() != nullptr && *name->AsString() == field.searcher;
  }

  void Read(const Field& field, const ConfigMember& member) {
    const ConfigNode& node = member.value;
    if (field.role == Field::Role::kIgnored) return;
    if (field.role == Field::Role::kUnsupported) {
      return Add(member.where, field.path, "not supported yet; remove it");
    }
    if (field.role == Field::Role::kSection) {
      if (node.is_map()) return ReadMap(node, absl::StrCat(field.path, "."));
      return Add(node.where, field.path, Mismatch(field, node));
    }
    if (field.searcher != nullptr && !MattersHere(field)) return AddWrongSearcher(field, member);
    const FieldTarget target = field.target(config_);
    if (!std::visit(Fill{field, node}, target)) {
      return Add(node.where, field.path, Mismatch(field, node));
    }
    if (SearchSpace* const* space = std::get_if<SearchSpace*>(&target)) {
      ReadSearchSpace(node, field.path, **space, problems_);
    }
  }

  // Silent where the searcher's name is wrong itself.
  void AddWrongSearcher(const Field& field, const ConfigMember& member) {
    const Field* name_field = FindField("searcher.name");
    const ConfigNode* name = root_.FindPath("searcher.name");
    std::string text;
    if (name == nullptr || !Fill{*name_field, *name}.Choice(&text)) return;
    Add(member.where, field.path,
        absl::StrCat("belongs to searcher ", field.searcher, ", not to ", text, "; remove it"));
  }

  static std::string Mismatch(const Field& field, const ConfigNode& node) {
    if (const std::string* text = node.AsString(); text != nullptr && field.later != nullptr) {
      for (const std::string& later : Fill::Split(field.later)) {
        if (later != *text) continue;
        return absl::StrCat("\"", later, "\" is not supported yet; known: ",
                            absl::StrJoin(Fill::Split(field.choices), ", "));
      }
    }
    return absl::StrCat("expected ", Expected(field), ", found ", node.Describe());
  }

  const ConfigNode& root_;
  ExperimentConfig& config_;
  std::vector<Problem>& problems_;
};

}  // namespace

void ReadFields(const ConfigNode& root, ExperimentConfig& config, std::vector<Problem>& problems) {
  TableReader(root, config, problems).ReadMap(root, "");
}

}  // namespace det::model
