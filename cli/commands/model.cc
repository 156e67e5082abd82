// det model list|describe|create|edit|archive|unarchive|move|delete
#include "cli/commands/model.h"

#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/commands/confirm.h"
#include "cli/commands/paging.h"
#include "cli/commands/struct_text.h"
#include "cli/commands/workspace.h"
#include "cli/format.h"
#include "cli/table.h"
#include "det/api/v1/model.pb.h"

namespace det::cli {
namespace {

using api::v1::Model;
using api::v1::ModelVersion;

const Option kAll = {"all", 'a', "", "Include archived models"};

absl::StatusOr<api::v1::GetModelsRequest> ReadList(const Invocation& run) {
  using Request = api::v1::GetModelsRequest;
  static const auto& keys = *new std::map<std::string, Request::SortBy>{
      {"name", Request::SORT_BY_NAME},
      {"description", Request::SORT_BY_DESCRIPTION},
      {"creation_time", Request::SORT_BY_CREATION_TIME},
      {"last_updated_time", Request::SORT_BY_LAST_UPDATED_TIME},
      {"num_versions", Request::SORT_BY_NUM_VERSIONS},
      {"workspace", Request::SORT_BY_WORKSPACE}};
  Request request;
  DET_ASSIGN_OR_RETURN(const Page page, ReadPage(run));
  request.set_limit(page.limit);
  request.set_offset(page.offset);
  const std::string key = run.args.Get("sort-by").value_or("last_updated_time");
  const auto known = keys.find(key);
  if (known == keys.end()) {
    return UsageError(absl::StrCat(
        "--sort-by: expected ",
        absl::StrJoin(keys, ", ", [](std::string* out, const auto& k) { *out += k.first; }),
        ", found ", key));
  }
  request.set_sort_by(known->second);
  DET_ASSIGN_OR_RETURN(const api::v1::OrderBy order, ReadOrder(run, api::v1::ORDER_BY_ASC));
  request.set_order_by(order);
  if (!run.args.Has("all")) request.set_archived(false);
  for (const std::string& name : run.args.GetAll("workspace")) request.add_workspace_names(name);
  for (const std::string& label : run.args.GetAll("label")) request.add_labels(label);
  return request;
}

absl::StatusOr<int> RunModelList(Invocation& run) {
  DET_ASSIGN_OR_RETURN(const api::v1::GetModelsRequest request, ReadList(run));
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::GetModelsResponse response;
  DET_RETURN_IF_ERROR(api->Call("ModelService.GetModels", request, &response));
  const bool all = run.args.Has("all");
  std::vector<Column> columns = {
      {"ID", true}, {"NAME", false, true}, {"WORKSPACE", false, true}, {"VERSIONS", true},
      {"CREATED"},  {"UPDATED"},           {"OWNER", false, true},     {"LABELS", false, true}};
  if (all) columns.push_back({"ARCHIVED"});
  Table table(std::move(columns));
  for (const Model& each : response.models()) {
    std::vector<Cell> row = {absl::StrCat(each.id()),
                             each.name(),
                             each.workspace_name(),
                             absl::StrCat(each.num_versions()),
                             MakeAgeCell(each.creation_time(), absl::Now()),
                             MakeAgeCell(each.last_updated_time(), absl::Now()),
                             each.username(),
                             absl::StrJoin(each.labels(), ", ")};
    if (all) row.push_back(each.archived() ? "yes" : "no");
    table.AddRow(std::move(row));
  }
  return PrintPage(run, response, response.pagination(), table, "models",
                   "no models that you can view; create one: det model create NAME");
}

template <class Message>
void AddShared(const Message& of, std::vector<std::pair<std::string, Cell>>* fields) {
  if (!of.labels().empty()) fields->emplace_back("labels", absl::StrJoin(of.labels(), ", "));
  fields->emplace_back("metadata", FormatStruct(of.metadata()));
  fields->emplace_back("created", FormatTimestamp(of.creation_time()));
  fields->emplace_back("updated", FormatTimestamp(of.last_updated_time()));
}

template <class Message>
std::string Notes(const Message& of) {
  if (of.notes().empty()) return "";
  return absl::StrCat("\n", absl::StripTrailingAsciiWhitespace(of.notes()), "\n");
}

std::string Description(const Model& model, const Style& style) {
  std::vector<std::pair<std::string, Cell>> fields = {
      {"model", absl::StrCat(model.id(), "  ", model.name())},
      {"workspace", model.workspace_name()}};
  if (model.archived()) fields.emplace_back("archived", "yes");
  if (!model.description().empty()) fields.emplace_back("description", model.description());
  fields.emplace_back("owner", model.username());
  fields.emplace_back("versions", absl::StrCat(model.num_versions()));
  AddShared(model, &fields);
  return absl::StrCat(RenderFields(fields, style), Notes(model));
}

std::string Description(const ModelVersion& version, const Style& style) {
  std::vector<std::pair<std::string, Cell>> fields = {{"version", absl::StrCat(version.version())}};
  if (!version.name().empty()) fields.emplace_back("name", version.name());
  if (!version.comment().empty()) fields.emplace_back("comment", version.comment());
  const api::v1::Checkpoint& checkpoint = version.checkpoint();
  fields.emplace_back("checkpoint", checkpoint.uuid());
  fields.emplace_back(
      "files", absl::StrCat(FormatBytes(checkpoint.size()), " in ", checkpoint.storage_path()));
  fields.emplace_back("experiment", absl::StrCat(checkpoint.training().experiment_id()));
  fields.emplace_back("validation",
                      FormatStruct(checkpoint.training().validation_metrics().avg_metrics()));
  fields.emplace_back("owner", version.username());
  AddShared(version, &fields);
  return absl::StrCat(RenderFields(fields, style), Notes(version));
}

absl::StatusOr<int> RunDescribeVersion(Invocation& run) {
  api::v1::GetModelVersionRequest request;
  request.set_model_name(run.args.Word("MODEL"));
  DET_ASSIGN_OR_RETURN(const int number, run.args.GetInt("version", 0, 1, INT32_MAX));
  request.set_model_version_num(number);
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::GetModelVersionResponse response;
  DET_RETURN_IF_ERROR(api->Call("ModelService.GetModelVersion", request, &response));
  const Style style = run.screen->out();
  return run.PrintResult(response,
                         absl::StrCat(Description(response.model_version().model(), style), "\n",
                                      Description(response.model_version(), style)));
}

// Shows a model with its latest version, or with the given version.
absl::StatusOr<int> RunModelDescribe(Invocation& run) {
  if (run.args.Has("version")) return RunDescribeVersion(run);
  api::v1::GetModelVersionsRequest request;
  request.set_model_name(run.args.Word("MODEL"));
  request.set_sort_by(api::v1::GetModelVersionsRequest::SORT_BY_VERSION);
  request.set_order_by(api::v1::ORDER_BY_DESC);
  request.set_limit(1);
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::GetModelVersionsResponse response;
  DET_RETURN_IF_ERROR(api->Call("ModelService.GetModelVersions", request, &response));
  const Style style = run.screen->out();
  std::string text = Description(response.model(), style);
  for (const ModelVersion& newest : response.model_versions()) {
    absl::StrAppend(&text, "\n", Description(newest, style));
  }
  return run.PrintResult(response, text);
}

absl::StatusOr<int> RunModelCreate(Invocation& run) {
  api::v1::PostModelRequest request;
  request.set_name(run.args.Word("NAME"));
  request.set_description(run.args.Get("description").value_or(""));
  if (const auto workspace = run.args.Get("workspace")) request.set_workspace_name(*workspace);
  DET_RETURN_IF_ERROR(ReadModelSettings(run, &request));
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::PostModelResponse response;
  DET_RETURN_IF_ERROR(api->Call("ModelService.PostModel", request, &response));
  DET_ASSIGN_OR_RETURN(
      const int code,
      run.PrintResult(response, absl::StrCat("created model ", request.name(), " (id ",
                                             response.model().id(), ")\n")));
  if (!run.json()) {
    run.screen->PrintHint(
        absl::StrCat("det model register-version ", request.name(), " CHECKPOINT"));
  }
  return code;
}

absl::StatusOr<int> RunModelEdit(Invocation& run) {
  api::v1::PatchModelRequest request;
  request.set_model_name(run.args.Word("MODEL"));
  api::v1::PatchModel& change = *request.mutable_model();
  if (const auto name = run.args.Get("new-name")) change.set_name(*name);
  if (const auto text = run.args.Get("description")) change.set_description(*text);
  if (const auto text = run.args.Get("notes")) change.set_notes(*text);
  if (change.ByteSizeLong() == 0) {
    return UsageError("model edit needs one of --new-name, --description and --notes");
  }
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::PatchModelResponse response;
  DET_RETURN_IF_ERROR(api->Call("ModelService.PatchModel", request, &response));
  return run.PrintResult(response, absl::StrCat("changed model ", response.model().name(), "\n"));
}

template <class Request, class Response>
absl::StatusOr<int> CallForModel(Invocation& run, const char* method, const std::string& done) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  Request request;
  request.set_model_name(run.args.Word("MODEL"));
  Response response;
  DET_RETURN_IF_ERROR(api->Call(absl::StrCat("ModelService.", method), request, &response));
  return run.PrintResult(response, absl::StrCat(done, " model ", request.model_name(), "\n"));
}

absl::StatusOr<int> RunModelArchive(Invocation& run) {
  return CallForModel<api::v1::ArchiveModelRequest, api::v1::ArchiveModelResponse>(
      run, "ArchiveModel", "archived");
}

absl::StatusOr<int> RunModelUnarchive(Invocation& run) {
  return CallForModel<api::v1::UnarchiveModelRequest, api::v1::UnarchiveModelResponse>(
      run, "UnarchiveModel", "unarchived");
}

absl::StatusOr<int> RunModelDelete(Invocation& run) {
  DET_RETURN_IF_ERROR(Confirm(
      run, absl::StrCat("Delete model ", run.args.Word("MODEL"), " with all its versions?")));
  return CallForModel<api::v1::DeleteModelRequest, api::v1::DeleteModelResponse>(run, "DeleteModel",
                                                                                 "deleted");
}

absl::StatusOr<int> RunModelMove(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  DET_ASSIGN_OR_RETURN(const api::v1::Workspace workspace,
                       FindWorkspace(*api, run.args.Word("WORKSPACE")));
  api::v1::MoveModelRequest request;
  request.set_model_name(run.args.Word("MODEL"));
  request.set_destination_workspace_id(workspace.id());
  api::v1::MoveModelResponse response;
  DET_RETURN_IF_ERROR(api->Call("ModelService.MoveModel", request, &response));
  return run.PrintResult(response, absl::StrCat("moved model ", request.model_name(),
                                                " to workspace ", workspace.name(), "\n"));
}

}  // namespace

absl::StatusOr<api::v1::OrderBy> ReadOrder(const Invocation& run, api::v1::OrderBy default_order) {
  const std::string order = run.args.Get("order-by").value_or("");
  if (order.empty()) return default_order;
  if (order == "asc") return api::v1::ORDER_BY_ASC;
  if (order == "desc") return api::v1::ORDER_BY_DESC;
  return UsageError(absl::StrCat("--order-by: expected asc or desc, found ", order));
}

std::vector<Command> ModelCommands() {
  std::vector<Command> commands = {
      {{"model", "list"},
       "List the models that you can view",
       {},
       PagedOptions({kAll,
                     {"workspace", 'w', "WORKSPACE", "Only models of this workspace; repeatable"},
                     {"label", 0, "LABEL", "Only models with one of these labels; repeatable"},
                     {"sort-by", 0, "KEY", "Sort key, such as name or creation_time"},
                     kOrder}),
       RunModelList,
       ""},
      {{"model", "describe"},
       "Show a model and its latest version",
       {kModel},
       {{"version", 0, "NUMBER", "Show this version instead of the latest"}},
       RunModelDescribe,
       ""},
      {{"model", "create"},
       "Create a model in the registry",
       {{"NAME", "Model name"}},
       {{"workspace", 'w', "WORKSPACE", "Workspace of the model (default: Uncategorized)"},
        {"description", 0, "TEXT", "Description of the model"},
        {"label", 0, "LABEL", "Label of the model; repeatable"},
        {"metadata", 0, "JSON", "Metadata as a JSON object"}},
       RunModelCreate,
       ""},
      {{"model", "edit"},
       "Change the name, description or notes of a model",
       {kModel},
       {{"new-name", 0, "NAME", "New name"},
        {"description", 0, "TEXT", "New description"},
        {"notes", 0, "TEXT", "New notes (Markdown)"}},
       RunModelEdit,
       ""},
      {{"model", "archive"},
       "Archive a model; it can no longer be changed",
       {kModel},
       {},
       RunModelArchive,
       ""},
      {{"model", "unarchive"}, "Unarchive a model", {kModel}, {}, RunModelUnarchive, ""},
      {{"model", "move"},
       "Move a model to another workspace",
       {kModel, {"WORKSPACE", "Workspace name"}},
       {},
       RunModelMove,
       ""},
      {{"model", "delete"},
       "Delete a model and its versions; checkpoints are kept",
       {kModel},
       {kYes},
       RunModelDelete,
       ""},
  };
  for (Command& each : ModelVersionCommands()) commands.push_back(std::move(each));
  return commands;
}

}  // namespace det::cli
