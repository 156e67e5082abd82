#include "master/store/interfaces/groups.h"

#include "absl/strings/numbers.h"

namespace det::store {

std::string ToText(model::RoleId role) {
  for (const model::BuiltInRole& each : model::GetBuiltInRoles()) {
    if (each.id == role) return std::string(each.name);
  }
  return absl::StrCat(role.value());
}

std::optional<model::RoleId> ParseRoleId(std::string_view text) {
  for (const model::BuiltInRole& each : model::GetBuiltInRoles()) {
    if (each.name == text) return each.id;
  }
  int32_t number = 0;
  if (!absl::SimpleAtoi(absl::string_view(text.data(), text.size()), &number) ||
      number < model::RoleId::kFirstCreated) {
    return std::nullopt;
  }
  return model::RoleId(number);
}

}  // namespace det::store
