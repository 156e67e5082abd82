#include "master/parse/template.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "master/parse/config_node.h"
#include "master/parse/problems.h"
#include "master/parse/read.h"
#include "master/parse/shape.h"

namespace det::model {
namespace {

constexpr const char* kCommandFields[] = {"idle_timeout", "notebook_idle_type", "resources.slots",
                                          "tensorboard_args", "work_dir"};

absl::StatusOr<ConfigNode> ReadMap(std::string_view yaml, const std::string& name) {
  const std::string source = absl::StrCat("template ", name);
  DET_ASSIGN_OR_RETURN(ConfigNode root, ReadYaml(yaml, source, /*with_lines=*/true));
  DET_RETURN_IF_ERROR(CheckIsMap(root, source));
  return root;
}

// Removes the member at "a.b".
void Remove(std::string_view path, ConfigNode& node) {
  const size_t dot = path.find('.');
  if (dot == path.npos) {
    std::erase_if(node.members, [path](const ConfigMember& member) { return member.key == path; });
    return;
  }
  for (ConfigMember& member : node.members) {
    if (member.key == path.substr(0, dot)) Remove(path.substr(dot + 1), member.value);
  }
}

}  // namespace

absl::StatusOr<Value> ReadTemplate(std::string_view yaml, const std::string& name) {
  DET_ASSIGN_OR_RETURN(const ConfigNode root, ReadMap(yaml, name));
  return root.is_null() ? Value(Value::Object{}) : root.ToValue();
}

absl::StatusOr<std::string> ReadTemplateOfExperiment(const std::string& yaml,
                                                     const std::string& name,
                                                     std::vector<std::string>& warnings) {
  DET_ASSIGN_OR_RETURN(ConfigNode root, ReadMap(yaml, name));
  bool changed = false;
  for (const char* path : kCommandFields) {
    const ConfigNode* found = root.FindPath(path);
    if (found == nullptr) continue;
    warnings.push_back(
        absl::StrCat(found->where, ": ", path, ": ignored: it is for commands and notebooks"));
    Remove(path, root);
    changed = true;
  }
  return changed ? root.ToValue().ToJson() : yaml;
}

absl::StatusOr<Value> ParseTemplate(std::string_view yaml, const std::string& name) {
  DET_ASSIGN_OR_RETURN(ConfigNode root, ReadMap(yaml, name));
  if (root.is_null()) return Value::Object{};
  Value given = root.ToValue();
  ToTableForm(root);
  ExperimentConfig scratch;
  std::vector<Problem> problems;
  ReadFields(ExperimentFields(), root, &scratch, problems);
  std::erase_if(problems, [](const Problem& problem) { return problem.missing; });
  DET_RETURN_IF_ERROR(ToStatus(std::move(problems)));
  return given;
}

}  // namespace det::model
