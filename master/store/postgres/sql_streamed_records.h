// Projects, models and model versions as clients of /stream follow them; migration 030 numbers
// their changes. Used by SqlStore. Any thread; blocks.
#ifndef MASTER_STORE_POSTGRES_SQL_STREAMED_RECORDS_H_
#define MASTER_STORE_POSTGRES_SQL_STREAMED_RECORDS_H_

#include <cstdint>
#include <map>
#include <vector>

#include "absl/status/statusor.h"
#include "master/store/interfaces/streamed_records.h"
#include "master/store/postgres/pool.h"

namespace det::store {

class SqlStreamedRecords final : public StreamedRecords {
 public:
  explicit SqlStreamedRecords(Pool* pool) : pool_(*pool) {}

  absl::StatusOr<int64_t> GetLastChange() override;
  absl::StatusOr<std::map<int32_t, int64_t>> ListSeqs(const StreamedQuery& query) override;
  absl::StatusOr<std::vector<StreamedProject>> ReadProjects(
      const std::vector<int32_t>& ids) override;
  absl::StatusOr<std::vector<StreamedModel>> ReadModels(const std::vector<int32_t>& ids) override;
  absl::StatusOr<std::vector<StreamedVersion>> ReadVersions(
      const std::vector<int32_t>& ids) override;

 private:
  Pool& pool_;
};

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_SQL_STREAMED_RECORDS_H_
