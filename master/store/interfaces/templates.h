// Templates: plain records, one transaction each. Reached through Store::templates().
// Any thread; blocks.
#ifndef MASTER_STORE_INTERFACES_TEMPLATES_H_
#define MASTER_STORE_INTERFACES_TEMPLATES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "master/store/interfaces/workspaces.h"

namespace det::store {

struct TemplateRecord {
  std::string name;
  std::string yaml;                    // as the user wrote it
  int32_t workspace = kUncategorized;  // deleted with its workspace
  friend bool operator==(const TemplateRecord&, const TemplateRecord&) = default;
};

class Templates {
 public:
  virtual ~Templates() = default;

  // Sorted by name.
  virtual absl::StatusOr<std::vector<TemplateRecord>> ListTemplates() = 0;
  // NOT_FOUND if there is no such template.
  virtual absl::StatusOr<TemplateRecord> GetTemplate(const std::string& name) = 0;
  // Adding an identical template again is OK. ALREADY_EXISTS if a different one has the name.
  // NOT_FOUND if the workspace does not exist, FAILED_PRECONDITION if it is archived.
  virtual absl::Status AddTemplate(const TemplateRecord& record) = 0;
  // Adds the template, or replaces the one with its name in workspace `from` or in its own
  // workspace. ALREADY_EXISTS if that one is in another workspace: the caller was authorized only
  // for `from`. Errors for the workspace as in AddTemplate.
  virtual absl::Status PutTemplate(const TemplateRecord& record, int32_t from) = 0;
  // Replaces the template with this name in its workspace. NOT_FOUND if it is no longer there,
  // FAILED_PRECONDITION if the workspace is archived.
  virtual absl::Status ReplaceTemplate(const TemplateRecord& record) = 0;
  // Renames the template in workspace `in`, for which the caller was authorized. NOT_FOUND if
  // `name` is not in it, ALREADY_EXISTS if `to` exists.
  virtual absl::Status RenameTemplate(const std::string& name, int32_t in,
                                      const std::string& to) = 0;
  // NOT_FOUND as in RenameTemplate.
  virtual absl::Status DeleteTemplate(const std::string& name, int32_t in) = 0;
};

// Errors that all implementations return.
inline absl::Status NoSuchTemplate(const std::string& name) {
  return absl::NotFoundError(
      absl::StrCat("template ", name, " not found; `det template list` shows all"));
}
inline absl::Status TemplateExists(const std::string& name) {
  return absl::AlreadyExistsError(
      absl::StrCat("another template is named ", name, "; remove it first or choose another name"));
}

}  // namespace det::store

#endif  // MASTER_STORE_INTERFACES_TEMPLATES_H_
