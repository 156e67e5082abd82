#include "cli/commands/struct_text.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/format.h"
#include "google/protobuf/struct.pb.h"
#include "proto/http_rule.h"

namespace det::cli {
namespace {

void AddParts(const google::protobuf::Struct& values, const std::string& prefix,
              std::vector<std::string>& parts) {
  for (const auto& [name, value] : values.fields()) {
    const std::string path = absl::StrCat(prefix, name);
    if (value.has_struct_value()) {
      AddParts(value.struct_value(), absl::StrCat(path, "."), parts);
    } else {
      parts.push_back(absl::StrCat(path, "=", FormatValue(value)));
    }
  }
}

}  // namespace

std::string FormatValue(const google::protobuf::Value& value) {
  if (value.has_string_value()) return value.string_value();
  if (value.has_number_value()) return FormatPlainNumber(value.number_value());
  return proto::ToJson(value).value_or("?");
}

std::string FormatStruct(const google::protobuf::Struct& values) {
  std::vector<std::string> parts;
  AddParts(values, "", parts);
  // The map of the message has no order.
  std::sort(parts.begin(), parts.end());
  return parts.empty() ? "-" : absl::StrJoin(parts, "  ");
}

}  // namespace det::cli
