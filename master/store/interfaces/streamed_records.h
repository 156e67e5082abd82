// The records that clients follow over /stream: projects, models and model versions, each with the
// number of its last change. Reached through Store::streamed_records(). Any thread; blocks.
#ifndef MASTER_STORE_INTERFACES_STREAMED_RECORDS_H_
#define MASTER_STORE_INTERFACES_STREAMED_RECORDS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "master/core/model/ids.h"
#include "master/store/interfaces/models.h"
#include "master/store/interfaces/projects.h"

namespace det::store {

// `seq` is the number of the record's last change: larger than that of all changes that were
// committed before. A change of a model's workspace is a change of its versions, too.
struct StreamedProject {
  ProjectRecord project;  // without names of owners and workspaces, and without counts
  absl::Time created_at;
  int64_t seq = 0;
};
struct StreamedModel {
  ModelRecord model;  // without names of owners and workspaces, and without counts
  int64_t seq = 0;
};
struct StreamedVersion {
  ModelVersionRecord version;  // without names of owners
  int32_t workspace = 0;       // of its model
  int64_t seq = 0;
};

enum class StreamedKind { kProject, kModel, kVersion };

// Records that match any of the lists; without lists, none.
struct StreamedQuery {
  StreamedKind kind = StreamedKind::kProject;
  std::vector<int32_t> ids;
  std::vector<int32_t> workspaces;  // for versions, of their models
  std::vector<int32_t> models;      // kVersion: of these models
  std::vector<model::UserId> owners;
  std::optional<std::vector<int32_t>> visible;  // only in these workspaces
};

class StreamedRecords {
 public:
  virtual ~StreamedRecords() = default;

  // The number of the last change of any record, also of deletions.
  virtual absl::StatusOr<int64_t> GetLastChange() = 0;
  // The `seq` of each matching record, by id.
  virtual absl::StatusOr<std::map<int32_t, int64_t>> ListSeqs(const StreamedQuery& query) = 0;
  // The records with these ids that exist, sorted by id.
  virtual absl::StatusOr<std::vector<StreamedProject>> ReadProjects(
      const std::vector<int32_t>& ids) = 0;
  virtual absl::StatusOr<std::vector<StreamedModel>> ReadModels(
      const std::vector<int32_t>& ids) = 0;
  virtual absl::StatusOr<std::vector<StreamedVersion>> ReadVersions(
      const std::vector<int32_t>& ids) = 0;
};

}  // namespace det::store

#endif  // MASTER_STORE_INTERFACES_STREAMED_RECORDS_H_
