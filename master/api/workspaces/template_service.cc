#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "det/api/v1/template.unary.h"
#include "master/api/common/convert.h"
#include "master/api/rpc/api_service.h"
#include "master/api/workspaces/services.h"
#include "master/parse/template.h"
#include "master/store/interfaces/canonical.h"

namespace det::api {
namespace {

constexpr size_t kTemplateNameLimit = 128;
constexpr size_t kTemplateTextLimit = 1 << 20;

// The name appears in paths and in error messages.
absl::Status CheckTemplateName(const char* field, const std::string& name) {
  const auto fits = [](char c) {
    return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.';
  };
  if (!name.empty() && name.size() <= kTemplateNameLimit &&
      std::all_of(name.begin(), name.end(), fits)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(field, ": expected 1 to ", kTemplateNameLimit,
                                                 " letters, digits, '-', '_' or '.', found \"",
                                                 name, "\""));
}

absl::StatusOr<v1::Template> TemplateToProto(const store::TemplateRecord& record) {
  DET_ASSIGN_OR_RETURN(const model::Value config, model::ReadTemplate(record.yaml, record.name));
  v1::Template out;
  out.set_name(record.name);
  *out.mutable_config() = ToStruct(config);
  out.set_workspace_id(record.workspace);
  out.set_yaml(record.yaml);
  return out;
}

// Validates a text. A configuration as an object, which existing clients send, must only be
// readable: it may be for any kind of task, and is validated when one is created from it.
absl::StatusOr<store::TemplateRecord> TemplateFromProto(const v1::Template& given) {
  DET_RETURN_IF_ERROR(CheckTemplateName("template.name", given.name()));
  store::TemplateRecord record{.name = given.name(), .yaml = given.yaml()};
  if (given.workspace_id() != 0) record.workspace = given.workspace_id();
  const bool is_text = !record.yaml.empty();
  if (!is_text) {
    record.yaml = FromStruct(given.config(), Numbers::kIntegersIfWhole).ToJson();
  }
  if (record.yaml.size() > kTemplateTextLimit) {
    return absl::InvalidArgumentError(absl::StrCat("template ", record.name, ": ",
                                                   record.yaml.size(), " bytes; the limit is ",
                                                   kTemplateTextLimit));
  }
  const auto read = is_text ? model::ParseTemplate : model::ReadTemplate;
  DET_RETURN_IF_ERROR(read(record.yaml, record.name).status());
  return record;
}

class TemplateService final : public ApiService<v1::TemplateService> {
 public:
  TemplateService(CallPipeline& calls, store::Store& store) : ApiService(calls), store_(store) {}

  grpc::ServerUnaryReactor* GetTemplates(grpc::CallbackServerContext* context,
                                         const v1::GetTemplatesRequest* request,
                                         v1::GetTemplatesResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal& principal) {
                   return List(*request, principal, response);
                 });
  }

  grpc::ServerUnaryReactor* GetTemplate(grpc::CallbackServerContext* context,
                                        const v1::GetTemplateRequest* request,
                                        v1::GetTemplateResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal&) {
                   return Read(request->template_name(), response->mutable_template_());
                 });
  }

  grpc::ServerUnaryReactor* PostTemplate(grpc::CallbackServerContext* context,
                                         const v1::PostTemplateRequest* request,
                                         v1::PostTemplateResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal& principal) {
                   return Add(*request, principal, response->mutable_template_());
                 });
  }

  grpc::ServerUnaryReactor* PutTemplate(grpc::CallbackServerContext* context,
                                        const v1::PutTemplateRequest* request,
                                        v1::PutTemplateResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal& principal) {
                   return Put(*request, principal, response->mutable_template_());
                 });
  }

  grpc::ServerUnaryReactor* PatchTemplateConfig(
      grpc::CallbackServerContext* context, const v1::PatchTemplateConfigRequest* request,
      v1::PatchTemplateConfigResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal& principal) {
                   return Patch(*request, principal, response->mutable_template_());
                 });
  }

  grpc::ServerUnaryReactor* PatchTemplateName(grpc::CallbackServerContext* context,
                                              const v1::PatchTemplateNameRequest* request,
                                              v1::PatchTemplateNameResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal& principal) {
                   return Rename(*request, principal, response->mutable_template_());
                 });
  }

  grpc::ServerUnaryReactor* DeleteTemplate(grpc::CallbackServerContext* context,
                                           const v1::DeleteTemplateRequest* request,
                                           v1::DeleteTemplateResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request](const auth::Principal& principal) -> absl::Status {
                   DET_ASSIGN_OR_RETURN(
                       const auto existing,
                       ReadForWrite("DeleteTemplate", principal, request->template_name()));
                   return store_.templates().DeleteTemplate(existing.name, existing.workspace);
                 });
  }

 private:
  absl::Status Read(const std::string& name, v1::Template* out) {
    DET_ASSIGN_OR_RETURN(const auto record, store_.templates().GetTemplate(name));
    DET_ASSIGN_OR_RETURN(*out, TemplateToProto(record));
    return absl::OkStatus();
  }

  // Checks the current workspace of the template, which may have moved since the call was
  // authorized.
  absl::Status CheckTemplateEditor(const char* method, const auth::Principal& principal,
                                   const store::TemplateRecord& existing) {
    return auth::AuthorizeInWorkspace(FullName(method), principal,
                                      auth::GetRequirement(FullName(method)).need(),
                                      existing.workspace, auth::Scope::kTemplate, existing.name);
  }
  absl::StatusOr<store::TemplateRecord> ReadForWrite(const char* method,
                                                     const auth::Principal& principal,
                                                     const std::string& name) {
    DET_ASSIGN_OR_RETURN(auto existing, store_.templates().GetTemplate(name));
    DET_RETURN_IF_ERROR(CheckTemplateEditor(method, principal, existing));
    return existing;
  }

  absl::Status Rename(const v1::PatchTemplateNameRequest& request, const auth::Principal& principal,
                      v1::Template* out) {
    DET_RETURN_IF_ERROR(CheckTemplateName("new_name", request.new_name()));
    DET_ASSIGN_OR_RETURN(const auto existing,
                         ReadForWrite("PatchTemplateName", principal, request.old_name()));
    DET_RETURN_IF_ERROR(
        store_.templates().RenameTemplate(existing.name, existing.workspace, request.new_name()));
    return Read(request.new_name(), out);
  }

  // Checks the default workspace, which applies if the request does not name one.
  absl::Status CheckEditor(const char* method, const auth::Principal& principal,
                           int32_t workspace) {
    return auth::AuthorizeInWorkspace(FullName(method), principal,
                                      model::Permission::kCreateTemplates, workspace,
                                      auth::Scope::kWorkspace, absl::StrCat(workspace));
  }

  absl::Status Add(const v1::PostTemplateRequest& request, const auth::Principal& principal,
                   v1::Template* out) {
    DET_ASSIGN_OR_RETURN(const auto record, TemplateFromProto(request.template_()));
    DET_RETURN_IF_ERROR(CheckEditor("PostTemplate", principal, record.workspace));
    DET_RETURN_IF_ERROR(store_.templates().AddTemplate(record));
    return Read(record.name, out);
  }

  absl::Status Put(const v1::PutTemplateRequest& request, const auth::Principal& principal,
                   v1::Template* out) {
    DET_ASSIGN_OR_RETURN(auto record, TemplateFromProto(request.template_()));
    const auto existing = store_.templates().GetTemplate(record.name);
    if (existing.ok()) {
      DET_RETURN_IF_ERROR(CheckTemplateEditor("PutTemplate", principal, *existing));
      if (request.template_().workspace_id() == 0) record.workspace = existing->workspace;
    } else if (!absl::IsNotFound(existing.status())) {
      return existing.status();
    }
    DET_RETURN_IF_ERROR(CheckEditor("PutTemplate", principal, record.workspace));
    if (request.validate_only()) {
      DET_ASSIGN_OR_RETURN(*out, TemplateToProto(record));
      return absl::OkStatus();
    }
    const int32_t from = existing.ok() ? existing->workspace : record.workspace;
    DET_RETURN_IF_ERROR(store_.templates().PutTemplate(record, from));
    return Read(record.name, out);
  }

  absl::Status List(const v1::GetTemplatesRequest& request, const auth::Principal& principal,
                    v1::GetTemplatesResponse* response) {
    DET_ASSIGN_OR_RETURN(auto records, store_.templates().ListTemplates());
    const auto& workspaces = request.workspace_ids();
    std::erase_if(records, [&](const store::TemplateRecord& record) {
      if (!principal.Holds(model::Permission::kViewTemplates, record.workspace)) return true;
      if (!workspaces.empty() &&
          std::find(workspaces.begin(), workspaces.end(), record.workspace) == workspaces.end())
        return true;
      return !absl::StrContains(absl::AsciiStrToLower(record.name),
                                absl::AsciiStrToLower(request.name()));
    });
    if (request.order_by() == v1::ORDER_BY_DESC) std::reverse(records.begin(), records.end());
    const int total = static_cast<int>(records.size());
    const store::Range range = store::Resolve(ToPage(request.offset(), request.limit()), total);
    for (int i = range.begin; i < range.end; ++i) {
      DET_ASSIGN_OR_RETURN(*response->add_templates(),
                           TemplateToProto(records[static_cast<size_t>(i)]));
    }
    *response->mutable_pagination() =
        ToPagination(request.offset(), request.limit(), response->templates_size(), total);
    return absl::OkStatus();
  }

  absl::Status Patch(const v1::PatchTemplateConfigRequest& request,
                     const auth::Principal& principal, v1::Template* out) {
    DET_ASSIGN_OR_RETURN(const store::TemplateRecord existing,
                         ReadForWrite("PatchTemplateConfig", principal, request.template_name()));
    v1::Template given;
    given.set_workspace_id(existing.workspace);
    given.set_name(request.template_name());
    *given.mutable_config() = request.config();
    DET_ASSIGN_OR_RETURN(const auto record, TemplateFromProto(given));
    DET_RETURN_IF_ERROR(store_.templates().ReplaceTemplate(record));
    return Read(record.name, out);
  }

  store::Store& store_;
};

}  // namespace

std::unique_ptr<Service> MakeTemplateService(CallPipeline& calls, store::Store& store) {
  return std::make_unique<TemplateService>(calls, store);
}

}  // namespace det::api
