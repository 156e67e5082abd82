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

absl::StatusOr<Value> ParseTemplate(std::string_view yaml, const std::string& name) {
  const std::string source = absl::StrCat("template ", name);
  DET_ASSIGN_OR_RETURN(ConfigNode root, ReadYaml(yaml, source, /*with_lines=*/true));
  DET_RETURN_IF_ERROR(CheckIsMap(root, source));
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
