// det template list|describe|create|set|remove
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/commands/paging.h"
#include "cli/commands/struct_text.h"
#include "cli/commands/workspace.h"
#include "cli/table.h"
#include "det/api/v1/template.pb.h"

namespace det::cli {
namespace {

const Positional kName = {"NAME", "Template name"};
const Positional kFile = {"FILE", "YAML file with part of an experiment config"};
const Option kTemplateWorkspace = {"workspace", 'w', "WORKSPACE",
                                   "Workspace of the template (default: Uncategorized)"};

absl::StatusOr<int> RunTemplateList(Invocation& run) {
  api::v1::GetTemplatesRequest request;
  DET_ASSIGN_OR_RETURN(const Page page, ReadPage(run));
  request.set_limit(page.limit);
  request.set_offset(page.offset);
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  for (const std::string& name : run.args.GetAll("workspace")) {
    DET_ASSIGN_OR_RETURN(const api::v1::Workspace workspace, FindWorkspace(*api, name));
    request.add_workspace_ids(workspace.id());
  }
  api::v1::GetTemplatesResponse response;
  DET_RETURN_IF_ERROR(api->Call("TemplateService.GetTemplates", request, &response));
  const bool details = run.args.Has("details");
  Table table({{"NAME"}, {details ? "CONFIG" : "FIELDS", false, true}});
  for (const api::v1::Template& each : response.templates()) {
    std::set<std::string> keys;  // The map of the message has no order.
    for (const auto& [key, value] : each.config().fields()) keys.insert(key);
    table.AddRow({each.name(), details ? FormatStruct(each.config()) : absl::StrJoin(keys, ", ")});
  }
  return PrintPage(run, response, response.pagination(), table, "templates",
                   "no templates yet; create one: det template create NAME FILE");
}

absl::StatusOr<int> RunTemplateDescribe(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::GetTemplateRequest request;
  request.set_template_name(run.args.Word("NAME"));
  api::v1::GetTemplateResponse response;
  DET_RETURN_IF_ERROR(api->Call("TemplateService.GetTemplate", request, &response));
  if (run.json()) {
    DET_RETURN_IF_ERROR(run.PrintJson(response));
    return kExitOk;
  }
  std::string text = response.template_().yaml();
  if (text.empty() || text.back() != '\n') text += '\n';
  run.screen->Print(text);
  return kExitOk;
}

absl::StatusOr<api::v1::Template> ReadTemplate(const Invocation& run) {
  const std::string path = run.args.Word("FILE");
  const absl::StatusOr<std::string> text = base::ReadFile(path);
  if (!text.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("template: ", text.status().message()));
  }
  api::v1::Template given;
  given.set_name(run.args.Word("NAME"));
  given.set_yaml(*text);
  return given;
}

template <class Request, class Response>
absl::StatusOr<int> Send(Invocation& run, const char* method, const char* done) {
  Request request;
  DET_ASSIGN_OR_RETURN(*request.mutable_template_(), ReadTemplate(run));
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  if (const auto name = run.args.Get("workspace")) {
    DET_ASSIGN_OR_RETURN(const api::v1::Workspace workspace, FindWorkspace(*api, *name));
    request.mutable_template_()->set_workspace_id(workspace.id());
  }
  Response response;
  DET_RETURN_IF_ERROR(api->Call(method, request, &response));
  if (run.json()) {
    DET_RETURN_IF_ERROR(run.PrintJson(response));
    return kExitOk;
  }
  const std::string& name = response.template_().name();
  run.screen->Print(absl::StrCat(done, " template ", name, "\n"));
  run.screen->PrintHint(
      absl::StrCat("det experiment create --template ", name, " CONFIG CONTEXT_DIR"));
  return kExitOk;
}

absl::StatusOr<int> RunTemplateCreate(Invocation& run) {
  return Send<api::v1::PostTemplateRequest, api::v1::PostTemplateResponse>(
      run, "TemplateService.PostTemplate", "created");
}

absl::StatusOr<int> RunTemplateSet(Invocation& run) {
  return Send<api::v1::PutTemplateRequest, api::v1::PutTemplateResponse>(
      run, "TemplateService.PutTemplate", "set");
}

absl::StatusOr<int> RunTemplateSetConfig(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::GetTemplateRequest request;
  request.set_template_name(run.args.Word("NAME"));
  api::v1::GetTemplateResponse response;
  DET_RETURN_IF_ERROR(api->Call("TemplateService.GetTemplate", request, &response));
  return RunTemplateSet(run);
}

absl::StatusOr<int> RunTemplateRemove(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::DeleteTemplateRequest request;
  request.set_template_name(run.args.Word("NAME"));
  api::v1::DeleteTemplateResponse response;
  DET_RETURN_IF_ERROR(api->Call("TemplateService.DeleteTemplate", request, &response));
  if (run.json()) {
    DET_RETURN_IF_ERROR(run.PrintJson(response));
    return kExitOk;
  }
  run.screen->Print(absl::StrCat("removed template ", request.template_name(), "\n"));
  return kExitOk;
}

}  // namespace

std::vector<Command> TemplateCommands() {
  return {
      {{"template", "list"},
       "List templates and the config fields that they set",
       {},
       PagedOptions(
           {{"details", 'd', "", "Show the values, not only the names"},
            {"workspace", 'w', "WORKSPACE", "Only templates of this workspace; repeatable"}}),
       RunTemplateList,
       ""},
      {{"template", "describe"}, "Print a template", {kName}, {}, RunTemplateDescribe, ""},
      {{"template", "create"},
       "Create a template from a partial config",
       {kName, kFile},
       {kTemplateWorkspace},
       RunTemplateCreate,
       "An experiment that names the template with --template is configured with the template "
       "first, then with its own config."},
      {{"template", "set"},
       "Create or replace a template",
       {kName, kFile},
       {{"workspace", 'w', "WORKSPACE",
         "Workspace of the template (default: unchanged or Uncategorized)"}},
       RunTemplateSet,
       ""},
      {{"template", "set-value", "config"},
       "Replace the config of an existing template",
       {kName, kFile},
       {},
       RunTemplateSetConfig,
       ""},
      {{"template", "remove"}, "Remove a template", {kName}, {}, RunTemplateRemove, ""},
  };
}

}  // namespace det::cli
