// Templates as the store keeps them: plain records, one transaction each. Reached by
// Store::templates().
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
  std::string yaml;                    // as it was given
  int32_t workspace = kUncategorized;  // goes with it
  friend bool operator==(const TemplateRecord&, const TemplateRecord&) = default;
};

class Templates {
 public:
  virtual ~Templates() = default;

  // By name.
  virtual absl::StatusOr<std::vector<TemplateRecord>> ListTemplates() = 0;
  // NOT_FOUND when nothing has this name.
  virtual absl::StatusOr<TemplateRecord> GetTemplate(const std::string& name) = 0;
  // ALREADY_EXISTS when another one has the name; the same one again is OK. NOT_FOUND when there is
  // no such workspace, FAILED_PRECONDITION when it is archived.
  virtual absl::Status AddTemplate(const TemplateRecord& record) = 0;
  // Adds it, or replaces the one of its name that lies in workspace `from` or in its own.
  // ALREADY_EXISTS when that one lies elsewhere: whoever asks may have been asked about `from`
  // alone. As AddTemplate of the workspace.
  virtual absl::Status PutTemplate(const TemplateRecord& record, int32_t from) = 0;
  // The one of its name in its own workspace, which is NOT_FOUND when it lies there no longer.
  // FAILED_PRECONDITION when the workspace is archived.
  virtual absl::Status ReplaceTemplate(const TemplateRecord& record) = 0;
  // Of the one that lies in workspace `in`: whoever asks was asked about that alone. NOT_FOUND when
  // nothing there is named `name`, ALREADY_EXISTS when something is named `to`.
  virtual absl::Status RenameTemplate(const std::string& name, int32_t in,
                                      const std::string& to) = 0;
  // NOT_FOUND as above.
  virtual absl::Status DeleteTemplate(const std::string& name, int32_t in) = 0;
};

// What all implementations say.
inline absl::Status NoSuchTemplate(const std::string& name) {
  return absl::NotFoundError(
      absl::StrCat("no template is named ", name, "; `det template list` shows all"));
}
inline absl::Status TemplateExists(const std::string& name) {
  return absl::AlreadyExistsError(
      absl::StrCat("another template is named ", name, "; remove it first or choose another name"));
}

}  // namespace det::store

#endif  // MASTER_STORE_INTERFACES_TEMPLATES_H_
