// det master info, det version
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/install.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/format.h"
#include "cli/json_text.h"
#include "cli/table.h"
#include "det/api/v1/master.pb.h"

namespace det::cli {
namespace {

absl::StatusOr<int> RunInfo(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.Api());
  api::v1::GetInfoResponse info;
  DET_RETURN_IF_ERROR(api->Call("MasterService.GetInfo", api::v1::GetInfoRequest(), &info));
  if (run.json()) {
    DET_RETURN_IF_ERROR(run.PrintJson(info));
    return kExitOk;
  }
  run.screen->Print(RenderFields(
      {{"address", api->addresses()},
       {"version", info.version()},
       {"cluster", absl::StrCat(info.cluster_name(), info.cluster_name().empty() ? "" : "  ",
                                info.cluster_id())},
       {"started",
        absl::StrCat(Ago(info.started_at(), absl::Now()), "  ", Exact(info.started_at()))},
       {"database", info.database()},
       {"agents", absl::StrCat(info.agents())},
       {"slots", absl::StrCat(info.slots_in_use(), " of ", info.slots(), " used")}},
      run.screen->out()));
  return kExitOk;
}

// Answers without a master too: then only for itself.
absl::StatusOr<int> RunVersion(Invocation& run) {
  api::v1::GetInfoResponse info;
  std::string master;
  std::string why;
  absl::StatusOr<ApiClient*> api = run.Api();
  if (api.ok()) {
    const absl::Status asked =
        (*api)->Call("MasterService.GetInfo", api::v1::GetInfoRequest(), &info);
    if (absl::IsCancelled(asked)) return asked;
    if (asked.ok()) master = info.version();
    why = absl::StrCat("not reachable at ", (*api)->addresses());
  } else {
    // A wrong address is an error; that nothing runs here is not.
    if (!absl::IsFailedPrecondition(api.status())) return api.status();
    why = "none running";
  }
  if (run.json()) {
    run.screen->Print(Indented(absl::StrCat("{\"client\":", Quoted(base::kVersion), ",\"master\":",
                                            master.empty() ? "null" : Quoted(master), "}")) +
                      "\n");
    return kExitOk;
  }
  run.screen->Print(RenderFields(
      {{"det", base::kVersion}, {"master", master.empty() ? why : master}}, run.screen->out()));
  if (!master.empty() && master != base::kVersion) {
    run.screen->Note("det and the master have different versions; some commands may be refused");
  }
  return kExitOk;
}

}  // namespace

std::vector<Command> MasterCommands() {
  return {
      {{"master", "info"}, "show which master answers, and its cluster", {}, {}, RunInfo, ""},
      {{"version"}, "show the versions of det and of the master", {}, {}, RunVersion, ""},
  };
}

}  // namespace det::cli
