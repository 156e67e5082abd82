// Streamed records in memory: numbers the changes that it finds when it is called. Used by
// FakeStore. Any thread; never blocks.
#ifndef MASTER_STORE_TESTING_FAKE_STREAMED_RECORDS_H_
#define MASTER_STORE_TESTING_FAKE_STREAMED_RECORDS_H_

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "master/store/interfaces/streamed_records.h"
#include "master/store/testing/fake_database.h"

namespace det::store {

class FakeStreamedRecords final : public StreamedRecords {
 public:
  explicit FakeStreamedRecords(FakeDatabase* database) : db_(*database) {}

  absl::StatusOr<int64_t> GetLastChange() override;
  absl::StatusOr<std::map<int32_t, int64_t>> ListSeqs(const StreamedQuery& query) override;
  absl::StatusOr<std::vector<StreamedProject>> ReadProjects(
      const std::vector<int32_t>& ids) override;
  absl::StatusOr<std::vector<StreamedModel>> ReadModels(const std::vector<int32_t>& ids) override;
  absl::StatusOr<std::vector<StreamedVersion>> ReadVersions(
      const std::vector<int32_t>& ids) override;

 private:
  // A record as it was when it got its number.
  template <class Record>
  using Numbered = std::map<int32_t, std::pair<Record, int64_t>>;

  // Numbers what has changed. REQUIRES the mutex.
  void NumberChanges();
  template <class Record>
  void NumberChanges(const std::map<int32_t, Record>& rows, Numbered<Record>* numbered);

  FakeDatabase& db_;
  int64_t last_change_ = 1;
  Numbered<ProjectRecord> projects_;
  Numbered<ModelRecord> models_;
  Numbered<std::pair<ModelVersionRecord, int32_t>> versions_;  // with their workspaces
};

}  // namespace det::store

#endif  // MASTER_STORE_TESTING_FAKE_STREAMED_RECORDS_H_
