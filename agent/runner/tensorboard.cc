#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "agent/runner/services.h"
#include <nlohmann/json.hpp>

namespace det::agent {

absl::StatusOr<Service> PrepareTensorboard(const ServiceInput& input) {
  using Json = nlohmann::json;
  const Json description = Json::parse(input.description, nullptr, /*allow_exceptions=*/false);
  const std::string base_path = description.value("base_path", "/");
  const std::string python = GetPython();
  if (!HasModule(python, "tensorboard")) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the Python of this task, ", python,
        ", has no TensorBoard; run `pip install tensorboard` for it on the agent's machine or in "
        "startup-hook.sh, or set DET_PYTHON_EXECUTABLE to a Python that has it"));
  }
  Service service;
  service.argv = {python,
                  "-m",
                  "det.tensorboard",
                  "--port",
                  absl::StrCat(input.port),
                  "--base-path",
                  std::string(absl::StripSuffix(base_path, "/"))};
  service.url = absl::StrCat("http://127.0.0.1:", input.port, base_path);
  return service;
}

}  // namespace det::agent
