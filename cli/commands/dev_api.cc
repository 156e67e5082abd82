// det dev curl, det dev api list|call
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/commands/dev.h"
#include "cli/json_text.h"
#include "cli/table.h"
#include "det/api/v1/agent.pb.h"
#include "det/api/v1/auth.pb.h"
#include "det/api/v1/checkpoint.pb.h"
#include "det/api/v1/command.pb.h"
#include "det/api/v1/config_policy.pb.h"
#include "det/api/v1/experiment.pb.h"
#include "det/api/v1/experiment_action.pb.h"
#include "det/api/v1/generic_task.pb.h"
#include "det/api/v1/job.pb.h"
#include "det/api/v1/log_fields.pb.h"
#include "det/api/v1/log_retention.pb.h"
#include "det/api/v1/master.pb.h"
#include "det/api/v1/model.pb.h"
#include "det/api/v1/model_def.pb.h"
#include "det/api/v1/overview.pb.h"
#include "det/api/v1/project.pb.h"
#include "det/api/v1/resource_pool.pb.h"
#include "det/api/v1/role.pb.h"
#include "det/api/v1/run.pb.h"
#include "det/api/v1/run_action.pb.h"
#include "det/api/v1/search.pb.h"
#include "det/api/v1/task.pb.h"
#include "det/api/v1/task_runtime.pb.h"
#include "det/api/v1/template.pb.h"
#include "det/api/v1/token.pb.h"
#include "det/api/v1/trial.pb.h"
#include "det/api/v1/trial_source.pb.h"
#include "det/api/v1/usage.pb.h"
#include "det/api/v1/user.pb.h"
#include "det/api/v1/webhook.pb.h"
#include "det/api/v1/workspace.pb.h"
#include "google/api/annotations.pb.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "google/protobuf/util/json_util.h"
#include "proto/http_rule.h"

namespace det::cli {
namespace {

using google::protobuf::FileDescriptor;
using google::protobuf::Message;
using google::protobuf::MessageFactory;
using google::protobuf::MethodDescriptor;

// ---- det dev curl ----

// Returns the body of -d: its text, or the content of a file for @FILE.
absl::StatusOr<std::string> ReadBody(const Invocation& run) {
  const std::string data = run.args.Get("data").value_or("");
  if (!absl::StartsWith(data, "@")) return data;
  return base::ReadFile(data.substr(1));
}

absl::StatusOr<int> RunCurl(Invocation& run) {
  DET_ASSIGN_OR_RETURN(const std::string body, ReadBody(run));
  const std::string verb = run.args.Get("request").value_or(body.empty() ? "GET" : "POST");
  const std::string target = absl::StrCat("/", absl::StripPrefix(run.args.Word("PATH"), "/"));
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  const bool raw = run.args.Has("raw");
  std::string answer;
  DET_ASSIGN_OR_RETURN(const int http, api->Send(absl::AsciiStrToUpper(verb), target, body,
                                                 [&](int, absl::string_view piece) {
                                                   if (raw) {
                                                     run.screen->Print(piece);
                                                   } else {
                                                     absl::StrAppend(&answer, piece);
                                                   }
                                                   return absl::OkStatus();
                                                 }));
  if (!answer.empty())
    run.screen->Print(absl::StrCat(absl::StripSuffix(IndentJson(answer), "\n"), "\n"));
  if (http / 100 == 2) return kExitOk;
  return absl::UnknownError(absl::StrCat(verb, " ", target, ": the master returned HTTP ", http));
}

// ---- det dev api ----

// Returns the API files that have services, found through one message of each.
std::vector<const FileDescriptor*> Files() {
  namespace v1 = api::v1;
  std::vector<const FileDescriptor*> files;
  for (const google::protobuf::Descriptor* one :
       {v1::Agent::descriptor(),
        v1::LoginRequest::descriptor(),
        v1::Checkpoint::descriptor(),
        v1::Command::descriptor(),
        v1::GetGlobalConfigPoliciesRequest::descriptor(),
        v1::Experiment::descriptor(),
        v1::BulkExperimentFilters::descriptor(),
        v1::CreateGenericTaskRequest::descriptor(),
        v1::Job::descriptor(),
        v1::TrialLogsFieldsRequest::descriptor(),
        v1::PutExperimentRetainLogsRequest::descriptor(),
        v1::GetInfoRequest::descriptor(),
        v1::Model::descriptor(),
        v1::FileNode::descriptor(),
        v1::GetOverviewRequest::descriptor(),
        v1::Project::descriptor(),
        v1::ResourcePool::descriptor(),
        v1::Role::descriptor(),
        v1::FlatRunExperiment::descriptor(),
        v1::RunActionResult::descriptor(),
        v1::Search::descriptor(),
        v1::TaskLogsRequest::descriptor(),
        v1::GetTaskContextDirectoryRequest::descriptor(),
        v1::Template::descriptor(),
        v1::TokenInfo::descriptor(),
        v1::Trial::descriptor(),
        v1::GetTrialMetricsByCheckpointRequest::descriptor(),
        v1::ResourceAllocationRawRequest::descriptor(),
        v1::PatchUser::descriptor(),
        v1::Trigger::descriptor(),
        v1::Workspace::descriptor()}) {
    files.push_back(one->file());
  }
  return files;
}

std::vector<const MethodDescriptor*> Methods() {
  std::vector<const MethodDescriptor*> methods;
  for (const FileDescriptor* file : Files()) {
    for (int i = 0; i < file->service_count(); ++i) {
      for (int j = 0; j < file->service(i)->method_count(); ++j) {
        methods.push_back(file->service(i)->method(j));
      }
    }
  }
  return methods;
}

// "ExperimentService.GetExperiment".
std::string GetName(const MethodDescriptor& method) {
  return absl::StrCat(method.service()->name(), ".", method.name());
}

// "GET /api/v1/experiments/{experiment_id}"; "-" for a method that is available only in gRPC.
std::string FormatHttpRule(const MethodDescriptor& method) {
  const google::api::HttpRule& rule = method.options().GetExtension(google::api::http);
  switch (rule.pattern_case()) {
    case google::api::HttpRule::kGet:
      return "GET " + rule.get();
    case google::api::HttpRule::kPost:
      return "POST " + rule.post();
    case google::api::HttpRule::kPut:
      return "PUT " + rule.put();
    case google::api::HttpRule::kPatch:
      return "PATCH " + rule.patch();
    case google::api::HttpRule::kDelete:
      return "DELETE " + rule.delete_();
    default:
      return "-";
  }
}

absl::StatusOr<int> RunApiList(Invocation& run) {
  const std::string part = absl::AsciiStrToLower(run.args.Word("PART"));
  Table table({{"METHOD"}, {"HTTP", false, true}, {"REQUEST"}, {"RESPONSE"}});
  std::vector<std::string> objects;
  for (const MethodDescriptor* method : Methods()) {
    const std::string name = GetName(*method);
    const std::string http = FormatHttpRule(*method);
    if (!absl::StrContains(absl::AsciiStrToLower(absl::StrCat(name, " ", http)), part)) continue;
    const std::string answers =
        absl::StrCat(method->server_streaming() ? "stream " : "", method->output_type()->name());
    table.AddRow({name, http, method->input_type()->name(), answers});
    objects.push_back(absl::StrCat("{\"method\":", QuoteJson(name), ",\"http\":", QuoteJson(http),
                                   ",\"takes\":", QuoteJson(method->input_type()->name()),
                                   ",\"answers\":", QuoteJson(answers), "}"));
  }
  // There is no API call, so this JSON is defined by det.
  if (run.json()) {
    run.screen->Print(
        IndentJson(absl::StrCat("{\"methods\":[", absl::StrJoin(objects, ","), "]}")) + "\n");
    return kExitOk;
  }
  if (run.args.Has("csv")) {
    run.screen->Print(table.RenderCsv());
  } else {
    run.screen->Print(table.Render(run.screen->out()));
  }
  return kExitOk;
}

// Finds a method by its full name, or by its own name if that is unique; case-insensitive.
absl::StatusOr<const MethodDescriptor*> FindMethod(const std::string& word) {
  std::vector<std::string> names;
  std::vector<const MethodDescriptor*> found;
  for (const MethodDescriptor* method : Methods()) {
    names.push_back(GetName(*method));
    names.push_back(method->name());
    if (absl::EqualsIgnoreCase(word, GetName(*method)) ||
        absl::EqualsIgnoreCase(word, method->name())) {
      found.push_back(method);
    }
  }
  if (found.size() == 1) return found[0];
  const std::optional<std::string> near = FindNearest(word, names);
  return UsageError(absl::StrCat(
      found.empty() ? "unknown" : "ambiguous", " method \"", word, "\"",
      !found.empty()
          ? absl::StrCat("; specify one of: ", GetName(*found[0]), ", ", GetName(*found[1]))
      : near ? absl::StrCat("; did you mean ", *near, "?")
             : "; see `det dev api list`"));
}

absl::StatusOr<int> RunApiCall(Invocation& run) {
  DET_ASSIGN_OR_RETURN(const MethodDescriptor* method, FindMethod(run.args.Word("METHOD")));
  MessageFactory& messages = *MessageFactory::generated_factory();
  const std::unique_ptr<Message> request(messages.GetPrototype(method->input_type())->New());
  const std::unique_ptr<Message> response(messages.GetPrototype(method->output_type())->New());
  if (const std::string json = run.args.Word("JSON"); !json.empty()) {
    // Unlike the master, unknown field names are errors here, because they are typing mistakes.
    const auto read = google::protobuf::util::JsonStringToMessage(json, request.get());
    if (!read.ok()) {
      return UsageError(absl::StrCat("JSON of ", method->input_type()->name(), ": ",
                                     std::string(read.message())));
    }
  }
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  if (!method->server_streaming()) {
    DET_RETURN_IF_ERROR(api->Call(GetName(*method), *request, response.get()));
    DET_RETURN_IF_ERROR(run.PrintJson(*response));
    return kExitOk;
  }
  absl::Status printed;
  DET_RETURN_IF_ERROR(api->Stream(GetName(*method), *request, response.get(), [&] {
    const absl::StatusOr<std::string> text = proto::ToJson(*response);
    printed = text.status();
    if (text.ok()) run.screen->Print(*text + "\n");
    return printed.ok() && run.screen->output_error() == 0;
  }));
  DET_RETURN_IF_ERROR(printed);
  return kExitOk;
}

}  // namespace

std::vector<Command> DevApiCommands() {
  std::vector<Command> commands = {
      {{"dev", "curl"},
       "Send an authenticated HTTP request to the master",
       {{"PATH", "Request path: /api/v1/experiments?limit=2"}},
       {{"request", 'X', "METHOD", "HTTP method (default: GET; POST with -d)"},
        {"data", 'd', "JSON", "Request body; @FILE reads it from a file"},
        {"raw", 0, "", "Print the response as received, without indentation"}},
       RunCurl,
       "The exit code is 0 only for a 2xx status. The response body is printed on stdout in all "
       "cases."},
      {{"dev", "api", "list"},
       "List the methods of the API",
       {{"PART", "Only methods whose name or path contains this", /*optional=*/true}},
       {kCsv},
       RunApiList,
       "No master is needed."},
      {{"dev", "api", "call"},
       "Call an API method by name",
       {{"METHOD", "Method: GetExperiment or ExperimentService.GetExperiment"},
        {"JSON", "Request: '{\"experimentId\": 3}'", /*optional=*/true}},
       {},
       RunApiCall,
       "Each message of a stream is printed as a JSON object on one line."},
  };
  // Aliases for existing clients.
  for (size_t i = 1; i < 3; ++i) {
    commands.push_back(commands[i]);
    commands.back().path[1] = "bindings";
    commands.back().notes = absl::StrCat("Same as `det dev api ", commands[i].path[2], "`.");
  }
  return commands;
}

}  // namespace det::cli
