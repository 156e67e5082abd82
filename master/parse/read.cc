// Reading of a tree by the table of fields.
#include "master/parse/read.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace det::model {
namespace {

using Role = Field::Role;

// The position of a map in the table: the root, a section, or an item of a list.
struct Place {
  std::string table;  // "bind_mounts[]."; empty, or ends with a dot
  std::string shown;  // "bind_mounts[2]."
  size_t item = 0;
};

class TableReader {
 public:
  TableReader(const FieldTable& table, const ConfigNode& root, void* config,
              std::vector<Problem>& problems)
      : table_(table), root_(root), config_(config), problems_(problems) {}

  void ReadMap(const ConfigNode& map, const Place& place) {
    for (const ConfigMember& member : map.members) {
      // A key that contains a dot or a bracket is never a field.
      const bool plain = member.key.find_first_of(".[") == std::string::npos;
      if (!plain || table_.Find(place.table + member.key) == nullptr) {
        Add(member.where, place.shown + member.key, DescribeUnknown(place, member.key));
      }
    }
    // In the order of the table: later fields may depend on earlier ones.
    for (const Field* each : table_.At(place.table)) {
      const Field& field = *each;
      const std::string key = field.path + place.table.size();
      const auto member = std::find_if(map.members.begin(), map.members.end(),
                                       [&key](const ConfigMember& m) { return m.key == key; });
      if (member != map.members.end() && !member->value.is_null()) {
        Read(field, *member, place);
      } else if (IsRequired(field)) {
        Add(map.where, place.shown + key, absl::StrCat("required but missing. ", field.description),
            /*missing=*/true);
      }
    }
  }

 private:
  std::string DescribeUnknown(const Place& place, const std::string& key) const {
    std::string old;
    if (&table_ == &ExperimentFields()) old = DescribeOldField(place.shown + key);
    if (!old.empty()) return old;
    return absl::StrCat("unknown field; ", Suggest(table_, key, KnownAt(place.table)));
  }

  void Add(const std::string& where, std::string path, std::string text, bool missing = false) {
    Problem problem{where, std::move(path), std::move(text), missing};
    // A value for all slot types is reported once.
    if (std::find(problems_.begin(), problems_.end(), problem) != problems_.end()) return;
    problems_.push_back(std::move(problem));
  }

  std::vector<std::string> KnownAt(const std::string& path) const {
    std::vector<std::string> known;
    for (const Field* field : table_.At(path)) {
      const bool useful = field->role != Role::kIgnored && field->role != Role::kRemoved;
      if (useful) known.emplace_back(field->path + path.size());
    }
    return known;
  }

  // Returns the kind of the searcher or storage that contains the field; nullopt if it is invalid.
  std::optional<std::string> KindAround(const Field& field) const {
    const Field* kind = table_.GetKindField(field.path);
    if (kind == nullptr) return std::nullopt;
    const ConfigNode* node = root_.FindPath(kind->path);
    const Value value = node == nullptr ? GetDefault(*kind) : node->ToValue();
    if (value.AsString() == nullptr || !IsAmong(kind->choices, *value.AsString())) {
      return std::nullopt;
    }
    return *value.AsString();
  }

  bool IsRequired(const Field& field) const {
    if (!field.required && field.required_for == nullptr) return false;
    const char* for_kinds = field.required ? field.only_for : field.required_for;
    if (for_kinds == nullptr) return true;
    const std::optional<std::string> kind = KindAround(field);
    return kind && IsAmong(for_kinds, *kind);
  }

  // Whether the field applies to the searcher or storage that contains it; reports it if not.
  bool Belongs(const Field& field, const ConfigMember& member) {
    if (field.only_for == nullptr) return true;
    const std::optional<std::string> kind = KindAround(field);
    // An invalid kind is reported elsewhere.
    if (!kind) return false;
    if (IsAmong(field.only_for, *kind)) return true;
    if (field.ignored_for != nullptr && IsAmong(field.ignored_for, *kind)) return false;
    std::string words = absl::StrJoin(SplitWords(field.only_for), ", ");
    Add(member.where, field.path,
        absl::StrCat("only valid for ", words, ", not for ", *kind, "; remove it"));
    return false;
  }

  void Read(const Field& field, const ConfigMember& member, const Place& place) {
    const ConfigNode& node = member.value;
    // An implied member is reported at the node that it is derived from.
    const std::string shown =
        member.implied ? place.shown.substr(0, place.shown.size() - 1) : place.shown + member.key;
    if (field.role == Role::kIgnored) return;
    if (field.role == Role::kRemoved) return Add(member.where, shown, field.description);
    if (field.role == Role::kSection) {
      if (!node.is_map()) return Add(node.where, shown, Mismatch(field, node, &node));
      return ReadMap(node, {absl::StrCat(field.path, "."), shown + ".", place.item});
    }
    if (!Belongs(field, member)) return;
    const FieldTarget target = field.target(config_, place.item);
    if (field.role == Role::kList) {
      return ReadList(field, node, shown, std::get<ListTarget>(target));
    }
    if (const ConfigNode* misfit = Fill(field, node, target)) {
      return Add(misfit->where, shown, Mismatch(field, node, misfit));
    }
    if (SearchSpace* const* space = std::get_if<SearchSpace*>(&target)) {
      ReadSearchSpace(node, field.path, **space, problems_);
    } else if (const auto* slots = std::get_if<SlotsTarget>(&target); slots && node.is_map()) {
      ReadElasticSlots(node, field.path, *slots->resources, problems_);
    }
  }

  void ReadList(const Field& field, const ConfigNode& node, const std::string& shown,
                const ListTarget& target) {
    if (!node.is_list()) return Add(node.where, shown, Mismatch(field, node, &node));
    target.resize(target.list, 0);
    target.resize(target.list, node.items.size());
    for (size_t i = 0; i < node.items.size(); ++i) {
      const ConfigNode& item = node.items[i];
      const std::string path = absl::StrCat(shown, "[", i, "]");
      if (item.is_map()) {
        ReadMap(item, {absl::StrCat(field.path, "[]."), path + ".", i});
      } else {
        Add(item.where, path, Mismatch(field, node, &item));
      }
    }
  }

  // Returns the replacement of a removed value: "adaptive: use x|..."
  static std::string DescribeRemoved(const Field& field, const ConfigNode& node) {
    if (field.removed == nullptr || node.AsString() == nullptr) return "";
    for (const std::string& removed : SplitWords(field.removed)) {
      const size_t colon = removed.find(':');
      if (removed.substr(0, colon) != *node.AsString()) continue;
      return absl::StrCat("\"", *node.AsString(), "\" was removed;", removed.substr(colon + 1));
    }
    return "";
  }

  std::string Mismatch(const Field& field, const ConfigNode& node, const ConfigNode* misfit) const {
    std::string removed = DescribeRemoved(field, node);
    if (!removed.empty()) return removed;
    const bool is_length = field.role == Role::kValue &&
                           (std::holds_alternative<Length*>(table_.GetType(field)) ||
                            std::holds_alternative<std::optional<Length>*>(table_.GetType(field)));
    if (is_length && node.Find("steps") != nullptr) {
      return "steps were replaced: a step was batches_per_step batches (100 by default); write "
             "{batches: N} with all batches";
    }
    std::string text =
        absl::StrCat("expected ", table_.Expected(field), ", found ", misfit->Describe(),
                     misfit == &node ? "" : absl::StrCat(" in ", node.Describe()));
    const std::string* word = misfit->AsString();
    if (field.choices == nullptr || word == nullptr) return text;
    const std::string nearest = Nearest(*word, SplitWords(field.choices), 1);
    return nearest.empty() ? text : absl::StrCat(text, "; did you mean ", nearest, "?");
  }

  const FieldTable& table_;
  const ConfigNode& root_;
  void* const config_;
  std::vector<Problem>& problems_;
};

}  // namespace

void ReadFields(const FieldTable& table, const ConfigNode& root, void* config,
                std::vector<Problem>& problems) {
  TableReader(table, root, config, problems).ReadMap(root, {});
}

}  // namespace det::model
