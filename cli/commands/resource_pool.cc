// det resource-pool list|describe|create|set|delete|bindings ...
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/commands/struct_text.h"
#include "cli/format.h"
#include "cli/table.h"
#include "det/api/v1/resource_pool.pb.h"
#include "google/protobuf/descriptor.h"

namespace det::cli {
namespace {

using api::v1::PutResourcePoolRequest;
using api::v1::ResourcePool;
using google::protobuf::FieldDescriptor;

const Positional kPool = {"POOL", "Resource pool name"};
const Positional kSettings = {"KEY=VALUE", "Settings: policy=fair_share preemption=true", true,
                              true};

// "SCHEDULER_TYPE_FAIR_SHARE" -> "fair_share", as in the master's config.
std::string FormatSchedulingPolicy(const ResourcePool& pool) {
  if (!pool.policy().empty()) return pool.policy();
  absl::string_view name = ResourcePool::SchedulerType_Name(pool.scheduler_type());
  absl::ConsumePrefix(&name, "SCHEDULER_TYPE_");
  return absl::AsciiStrToLower(name);
}

std::string FormatFittingPolicy(const ResourcePool& pool) {
  absl::string_view name = ResourcePool::FittingPolicy_Name(pool.scheduler_fitting_policy());
  absl::ConsumePrefix(&name, "FITTING_POLICY_");
  return absl::AsciiStrToLower(name);
}

std::string FormatDefaultFor(const ResourcePool& pool) {
  std::vector<std::string> kinds;
  if (pool.default_compute_pool()) kinds.emplace_back("compute");
  if (pool.default_aux_pool()) kinds.emplace_back("aux");
  return kinds.empty() ? "-" : absl::StrJoin(kinds, ",");
}

std::string FormatWorkspaces(const ResourcePool& pool) {
  return pool.workspaces().empty() ? "all" : absl::StrJoin(pool.workspaces(), ",");
}

absl::StatusOr<int> RunPoolList(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::GetResourcePoolsResponse response;
  DET_RETURN_IF_ERROR(api->Call("ResourcePoolService.GetResourcePools",
                                api::v1::GetResourcePoolsRequest(), &response));
  Table table({{"POOL", false, true},
               {"POLICY"},
               {"PREEMPTION"},
               {"AGENTS", true},
               {"SLOTS", true},
               {"USED", true},
               {"RUNNING", true},
               {"QUEUED", true},
               {"DEFAULT"},
               {"WORKSPACES", false, true},
               {"SOURCE"}});
  for (const ResourcePool& pool : response.resource_pools()) {
    table.AddRow({pool.name(), FormatSchedulingPolicy(pool), pool.preemption() ? "on" : "off",
                  absl::StrCat(pool.num_agents()), absl::StrCat(pool.slots_available()),
                  absl::StrCat(pool.slots_used()), absl::StrCat(pool.stats().scheduled_count()),
                  absl::StrCat(pool.stats().queued_count()), FormatDefaultFor(pool),
                  FormatWorkspaces(pool), pool.source()});
  }
  return run.PrintList(response, table,
                       "no resource pools; create one: det resource-pool create NAME");
}

std::string Description(const ResourcePool& pool, const Style& style) {
  const auto flag = [](bool on) { return on ? "true" : "false"; };
  return RenderFields(
      {{"pool", pool.name()},
       {"description", pool.description()},
       {"source", pool.source()},
       {"agents", absl::StrCat(pool.num_agents())},
       {"slots", absl::StrCat(pool.slots_used(), " of ", pool.slots_available(), " used")},
       {"tasks without slots", absl::StrCat(pool.aux_containers_running(), " of ",
                                            pool.aux_container_capacity(), " at most")},
       {"jobs", absl::StrCat(pool.stats().scheduled_count(), " running, ",
                             pool.stats().queued_count(), " waiting")},
       {"default for", FormatDefaultFor(pool)},
       {"workspaces", FormatWorkspaces(pool)},
       {"policy", FormatSchedulingPolicy(pool)},
       {"fitting", FormatFittingPolicy(pool)},
       {"preemption", flag(pool.preemption())},
       {"heterogeneous", flag(pool.heterogeneous())},
       {"backfill", flag(pool.backfill())},
       {"hold_after", FormatSpan(absl::Seconds(pool.hold_after_seconds()))},
       {"maintenance_lead", FormatSpan(absl::Seconds(pool.maintenance_lead_seconds()))},
       {"default_priority", absl::StrCat(pool.default_priority())},
       {"max_aux_per_agent", absl::StrCat(pool.aux_container_capacity_per_agent())},
       {"shared_devices", flag(pool.shared_devices())}},
      style);
}

// Returns NOT_FOUND with the existing names.
absl::StatusOr<ResourcePool> Find(const ApiClient& api, const std::string& name) {
  api::v1::GetResourcePoolsResponse response;
  DET_RETURN_IF_ERROR(api.Call("ResourcePoolService.GetResourcePools",
                               api::v1::GetResourcePoolsRequest(), &response));
  std::vector<std::string> names;
  for (const ResourcePool& pool : response.resource_pools()) {
    if (pool.name() == name) return pool;
    names.push_back(pool.name());
  }
  return absl::NotFoundError(absl::StrCat("resource pool \"", name, "\" not found; there are: ",
                                          names.empty() ? "none" : absl::StrJoin(names, ", ")));
}

absl::StatusOr<int> RunPoolDescribe(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  DET_ASSIGN_OR_RETURN(const ResourcePool pool, Find(*api, run.args.Word("POOL")));
  if (run.json()) {
    DET_RETURN_IF_ERROR(run.PrintJson(pool));
  } else {
    run.screen->Print(Description(pool, run.screen->out()));
  }
  return kExitOk;
}

constexpr char kSeconds[] = "_seconds";

// Returns the setting names: the fields of the request, without the unit of durations.
std::vector<std::string> Keys() {
  std::vector<std::string> keys;
  const auto& descriptor = *PutResourcePoolRequest::descriptor();
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const std::string& name = descriptor.field(i)->name();
    if (name != "name") keys.emplace_back(absl::StripSuffix(name, kSeconds));
  }
  return keys;
}

absl::Status SetNumber(const FieldDescriptor& field, const std::string& key,
                       const std::string& value, PutResourcePoolRequest* request) {
  int number = 0;
  if (!absl::SimpleAtoi(value, &number)) {
    return UsageError(absl::StrCat(key, ": expected an integer, found \"", value, "\""));
  }
  request->GetReflection()->SetInt32(request, &field, number);
  return absl::OkStatus();
}

absl::Status SetFlag(const FieldDescriptor& field, const std::string& key, const std::string& value,
                     PutResourcePoolRequest* request) {
  bool flag = false;
  if (!absl::SimpleAtob(value, &flag)) {
    return UsageError(absl::StrCat(key, ": expected true or false, found \"", value, "\""));
  }
  request->GetReflection()->SetBool(request, &field, flag);
  return absl::OkStatus();
}

absl::Status SetTime(const FieldDescriptor& field, const std::string& key, const std::string& value,
                     PutResourcePoolRequest* request) {
  double seconds = 0;
  absl::Duration span;
  if (absl::SimpleAtod(value, &seconds)) {
    span = absl::Seconds(seconds);
  } else if (!absl::ParseDuration(value, &span)) {
    return UsageError(
        absl::StrCat(key, ": expected a time such as 5m or 90s, found \"", value, "\""));
  }
  request->GetReflection()->SetDouble(request, &field, absl::ToDoubleSeconds(span));
  return absl::OkStatus();
}

absl::Status SetKey(const std::string& word, PutResourcePoolRequest* request) {
  const size_t equals = word.find('=');
  if (equals == word.npos || equals == 0) {
    return UsageError(absl::StrCat("expected KEY=VALUE, found \"", word, "\""));
  }
  std::string key = word.substr(0, equals);
  std::replace(key.begin(), key.end(), '-', '_');
  const std::string value = word.substr(equals + 1);
  const auto& descriptor = *PutResourcePoolRequest::descriptor();
  const FieldDescriptor* field = descriptor.FindFieldByName(key);
  if (field == nullptr) field = descriptor.FindFieldByName(absl::StrCat(key, kSeconds));
  if (field == nullptr || key == "name") {
    const std::optional<std::string> near = FindNearest(key, Keys());
    return UsageError(absl::StrCat("unknown setting \"", key, "\"; ",
                                   near ? absl::StrCat("did you mean ", *near, "?")
                                        : "there are: " + absl::StrJoin(Keys(), ", ")));
  }
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return SetFlag(*field, key, value, request);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return SetTime(*field, key, value, request);
    case FieldDescriptor::CPPTYPE_INT32:
      return SetNumber(*field, key, value, request);
    default:
      request->GetReflection()->SetString(request, field, value);
      return absl::OkStatus();
  }
}

absl::StatusOr<int> Put(Invocation& run, bool is_new) {
  PutResourcePoolRequest request;
  request.set_name(run.args.Word("POOL"));
  for (const std::string& word : run.args.Words("KEY=VALUE")) {
    DET_RETURN_IF_ERROR(SetKey(word, &request));
  }
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  const absl::StatusOr<ResourcePool> existing = Find(*api, request.name());
  if (!existing.ok() && (!is_new || !absl::IsNotFound(existing.status()))) return existing.status();
  // A pool that only agents have named can be created.
  if (is_new && existing.ok() && existing->source() != "agents") {
    return absl::AlreadyExistsError(absl::StrCat("resource pool ", request.name(),
                                                 " exists; change it with `det resource-pool set ",
                                                 request.name(), " KEY=VALUE`"));
  }
  api::v1::PutResourcePoolResponse response;
  DET_RETURN_IF_ERROR(api->Call("ResourcePoolService.PutResourcePool", request, &response));
  if (run.json()) {
    DET_RETURN_IF_ERROR(run.PrintJson(response));
    return kExitOk;
  }
  run.screen->Print(
      absl::StrCat(is_new ? "created" : "set", " resource pool ", request.name(), "\n"));
  if (is_new && response.resource_pool().num_agents() == 0) {
    run.screen->PrintHint("resolute-agent --pool " + request.name());
  }
  return kExitOk;
}

absl::StatusOr<int> RunPoolCreate(Invocation& run) { return Put(run, /*is_new=*/true); }
absl::StatusOr<int> RunPoolSet(Invocation& run) {
  if (run.args.Words("KEY=VALUE").empty()) {
    return UsageError("resource-pool set: nothing to set; settings: " +
                      absl::StrJoin(Keys(), ", "));
  }
  return Put(run, /*is_new=*/false);
}

absl::StatusOr<int> RunPoolDelete(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::DeleteResourcePoolRequest request;
  request.set_name(run.args.Word("POOL"));
  api::v1::DeleteResourcePoolResponse response;
  DET_RETURN_IF_ERROR(api->Call("ResourcePoolService.DeleteResourcePool", request, &response));
  if (run.json()) {
    DET_RETURN_IF_ERROR(run.PrintJson(response));
  } else {
    run.screen->Print(absl::StrCat("deleted resource pool ", request.name(), "\n"));
  }
  return kExitOk;
}

}  // namespace

std::vector<Command> ResourcePoolCommands() {
  const std::string settings = absl::StrCat("Settings: ", absl::StrJoin(Keys(), ", "), ".");
  std::vector<Command> commands = {
      {{"resource-pool", "list"},
       "List resource pools with their agents, slots and queues",
       {},
       {kCsv},
       RunPoolList,
       ""},
      {{"resource-pool", "describe"}, "Show a resource pool", {kPool}, {}, RunPoolDescribe, ""},
      {{"resource-pool", "create"},
       "Create a resource pool",
       {kPool, kSettings},
       {},
       RunPoolCreate,
       settings},
      {{"resource-pool", "set"},
       "Change the settings of a resource pool",
       {kPool, kSettings},
       {},
       RunPoolSet,
       absl::StrCat(settings,
                    "\nThe settings take precedence over the master's config file until `det "
                    "resource-pool delete`.")},
      {{"resource-pool", "delete"},
       "Delete a resource pool or its overrides of the config file",
       {kPool},
       {},
       RunPoolDelete,
       ""},
  };
  for (Command& command : BindingCommands()) commands.push_back(std::move(command));
  return commands;
}

}  // namespace det::cli
