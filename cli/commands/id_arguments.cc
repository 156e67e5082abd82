#include "cli/commands/id_arguments.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace det::cli {

const Positional kOneExperiment = {"EXPERIMENT", "Experiment ID"};
const Positional kOneTrial = {"TRIAL", "Trial ID"};
const Positional kExperiments = {"EXPERIMENT", "Experiment IDs: 3 5,7 9-12", false, true};

absl::StatusOr<int> ForEachId(Invocation& run, const std::string& positional,
                              const std::string& noun,
                              absl::FunctionRef<absl::Status(ApiClient& api, int id)> act) {
  DET_ASSIGN_OR_RETURN(const std::vector<int> ids, run.args.Ids(positional));
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  if (ids.size() == 1) {
    DET_RETURN_IF_ERROR(act(*api, ids[0]));
    return kExitOk;
  }
  int failed = 0;
  for (const int id : ids) {
    const absl::Status done = act(*api, id);
    if (absl::IsCancelled(done) || absl::IsUnavailable(done)) return done;
    if (done.ok()) continue;
    run.screen->PrintNotice(absl::StrCat("det: ", noun, " ", id, ": ", done.message()));
    ++failed;
  }
  return failed == 0 ? kExitOk : kExitError;
}

}  // namespace det::cli
