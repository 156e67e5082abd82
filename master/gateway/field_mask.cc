#include "master/gateway/field_mask.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "proto/nearest_field.h"
#include <nlohmann/json.hpp>

namespace det::gateway {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using Node = FieldMask::Node;

constexpr size_t kDepth = 32;

absl::Status Unknown(const std::string& path, const std::string& name, const Descriptor& type) {
  const std::string nearest = proto::NearestField(type, name);
  std::string text =
      absl::StrCat("fields: \"", path, "\": ", type.name(), " has no \"", name, "\"");
  if (!nearest.empty()) absl::StrAppend(&text, "; the nearest is \"", nearest, "\"");
  return absl::InvalidArgumentError(text);
}

const FieldDescriptor* Find(const Descriptor& type, const std::string& name) {
  for (int i = 0; i < type.field_count(); ++i) {
    if (type.field(i)->name() == name || type.field(i)->json_name() == name) return type.field(i);
  }
  return nullptr;
}

// Uses generic JSON, so that any name may occur in it.
bool IsFree(const Descriptor& type) {
  return type.full_name() == "google.protobuf.Struct" ||
         type.full_name() == "google.protobuf.Value";
}

// Converts the names of a path to their JSON form.
absl::StatusOr<std::vector<std::string>> Resolve(const std::string& path, const Descriptor& root) {
  std::vector<std::string> names = absl::StrSplit(path, '.');
  if (names.size() > kDepth) {
    return absl::InvalidArgumentError(
        absl::StrCat("fields: a path has at most ", kDepth, " names, not ", names.size()));
  }
  const Descriptor* type = &root;
  const FieldDescriptor* key = nullptr;  // a map: the next name is a key
  for (std::string& name : names) {
    if (key != nullptr) {
      type = std::exchange(key, nullptr)->message_type();
      continue;
    }
    if (type == nullptr || (!IsFree(*type) && type->file()->package() == "google.protobuf")) {
      return absl::InvalidArgumentError(absl::StrCat("fields: \"", path, "\": \"", name,
                                                     "\" is below a field that has no fields"));
    }
    if (IsFree(*type)) break;
    const FieldDescriptor* field = Find(*type, name);
    if (field == nullptr) return Unknown(path, name, *type);
    name = field->json_name();
    if (field->is_map()) key = field->message_type()->map_value();
    type = field->message_type();
  }
  return names;
}

void Add(const std::vector<std::string>& names, Node* node) {
  for (size_t i = 0; i < names.size(); ++i) {
    const auto [it, fresh] = node->members.try_emplace(names[i]);
    node = &it->second;
    if (!fresh && node->members.empty()) return;  // another path selects all of it
  }
  node->members.clear();
}

// Selects everything, including nested fields.
bool IsWhole(const Node& node) { return node.members.empty(); }

// Writes the requested parts of a document while parsing it; other parts are never stored.
class Filter final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Filter(const Node& root) : root_(root) {}
  std::string Take() { return std::move(out_); }

  bool null() override { return Put("null"); }
  bool boolean(bool value) override { return Put(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override { return Put(absl::StrCat(value)); }
  bool number_unsigned(number_unsigned_t value) override { return Put(absl::StrCat(value)); }
  bool number_float(number_float_t, const string_t& text) override { return Put(text); }
  bool string(string_t& value) override { return Put(ToJsonString(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return Open('{'); }
  bool end_object() override { return Close('}'); }
  bool start_array(std::size_t) override { return Open('['); }
  bool end_array() override { return Close(']'); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) override {
    return false;
  }

  bool key(string_t& name) override {
    if (skipped_depth_ > 0) return true;
    Level& level = levels_.back();
    level.next = &level.node;
    if (!IsWhole(level.node)) {
      const auto it = level.node.members.find(name);
      level.next = it == level.node.members.end() ? nullptr : &it->second;
    }
    if (level.next == nullptr) return true;
    if (!std::exchange(level.first, false)) out_ += ',';
    absl::StrAppend(&out_, ToJsonString(name), ":");
    return true;
  }

 private:
  struct Level {
    const Node& node;
    const Node* next;  // for the next value; null: not requested
    bool is_list;
    bool first = true;
  };

  static std::string ToJsonString(const std::string& text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  // The mask of the next value; null: not requested.
  const Node* Begin() {
    if (levels_.empty()) return &root_;
    Level& level = levels_.back();
    if (level.is_list && !std::exchange(level.first, false)) out_ += ',';
    return level.next;
  }
  bool Put(absl::string_view text) {
    if (skipped_depth_ == 0 && Begin() != nullptr) out_.append(text.data(), text.size());
    return true;
  }
  bool Open(char bracket) {
    const Node* node = skipped_depth_ > 0 ? nullptr : Begin();
    if (node == nullptr) {
      ++skipped_depth_;
      return true;
    }
    out_ += bracket;
    // The mask of a list applies to its elements.
    levels_.push_back({*node, node, bracket == '['});
    return true;
  }
  bool Close(char bracket) {
    if (skipped_depth_ > 0) {
      --skipped_depth_;
      return true;
    }
    out_ += bracket;
    levels_.pop_back();
    return true;
  }

  const Node& root_;
  std::string out_;
  std::vector<Level> levels_;
  int skipped_depth_ = 0;  // depth of nesting, from the first value that is not requested
};

}  // namespace

absl::StatusOr<FieldMask> FieldMask::Parse(std::string_view text, const Descriptor& type) {
  FieldMask mask;
  const absl::string_view view(text.data(), text.size());
  for (const std::string& path : std::vector<std::string>(absl::StrSplit(view, ','))) {
    if (path.empty()) {
      return absl::InvalidArgumentError(
          "fields: a path is empty; write them as \"experiments.id,experiments.state\"");
    }
    DET_ASSIGN_OR_RETURN(const std::vector<std::string> names, Resolve(path, type));
    Add(names, &mask.root_);
  }
  return mask;
}

absl::StatusOr<std::string> FieldMask::Apply(std::string_view json) const {
  Filter filter(root_);
  if (!nlohmann::json::sax_parse(json, &filter)) {
    return absl::InternalError("fields: the response is not JSON");
  }
  return filter.Take();
}

}  // namespace det::gateway
