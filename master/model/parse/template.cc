#include "master/model/parse/template.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "master/model/parse/config_node.h"

namespace det::model {

absl::StatusOr<Value> ParseTemplate(std::string_view yaml, const std::string& name) {
  DET_ASSIGN_OR_RETURN(const ConfigNode root,
                       ReadYaml(yaml, absl::StrCat("template ", name), /*with_lines=*/true));
  if (root.is_null()) return Value::Object{};
  if (!root.is_map()) {
    return absl::InvalidArgumentError(
        absl::StrCat(root.where, ": expected a map, found ", root.Describe()));
  }
  return root.ToValue();
}

}  // namespace det::model
