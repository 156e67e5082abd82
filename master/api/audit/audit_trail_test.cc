#include "master/api/audit/audit_trail.h"

#include <atomic>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "master/store/testing/fake_store.h"

namespace det::api {
namespace {

store::AuditRecord Record(const std::string& id) {
  store::AuditRecord record;
  record.request_id = id;
  return record;
}

TEST(AuditTrailTest, WritesRecordsInOrderAndFlushesOnDestruction) {
  store::FakeStore store;
  {
    AuditTrail trail(&store.audit(), nullptr);
    trail.Append(Record("a"));
    trail.Flush();
    EXPECT_EQ(store.audit().ListAudit({})->size(), 1u);
    trail.Append(Record("b"));
    trail.Append(Record("c"));
  }
  const auto records = store.audit().ListAudit({});
  ASSERT_EQ(records->size(), 3u);
  EXPECT_EQ(records->at(0).request_id, "c");
  EXPECT_EQ(records->at(2).request_id, "a");
}

// Blocks the first batch until `go` is set.
class SlowAudit final : public store::Audit {
 public:
  absl::Status AddAudit(const std::vector<store::AuditRecord>&) override {
    if (!std::exchange(first_, false)) return absl::OkStatus();
    began.set_value();
    go.get_future().wait();
    return absl::OkStatus();
  }
  absl::StatusOr<std::vector<store::AuditRecord>> ListAudit(const store::AuditQuery&) override {
    return std::vector<store::AuditRecord>();
  }
  absl::StatusOr<int> CountAudit(const store::AuditQuery&) override { return 0; }
  std::promise<void> began, go;

 private:
  bool first_ = true;
};

TEST(AuditTrailTest, CountsRecordsThatExceedTheQueue) {
  SlowAudit store;
  std::atomic<int64_t> lost = 0;
  AuditTrail trail(
      &store, [&](int64_t count) { lost += count; }, /*max_queued=*/2);
  trail.Append(Record("written"));
  store.began.get_future().wait();
  trail.Append(Record("waits"));
  trail.Append(Record("waits"));
  EXPECT_EQ(lost, 0);
  trail.Append(Record("lost"));
  EXPECT_EQ(lost, 1);
  store.go.set_value();
}

// Rejects a batch that contains a record "bad". The first call returns UNAVAILABLE.
class RejectingAudit final : public store::Audit {
 public:
  absl::Status AddAudit(const std::vector<store::AuditRecord>& records) override {
    if (std::exchange(first_, false)) return absl::UnavailableError("unavailable");
    for (const store::AuditRecord& each : records) {
      if (each.request_id == "bad") return absl::InternalError("refused");
    }
    for (const store::AuditRecord& each : records) taken.push_back(each.request_id);
    return absl::OkStatus();
  }
  absl::StatusOr<std::vector<store::AuditRecord>> ListAudit(const store::AuditQuery&) override {
    return std::vector<store::AuditRecord>();
  }
  absl::StatusOr<int> CountAudit(const store::AuditQuery&) override { return 0; }
  std::vector<std::string> taken;

 private:
  bool first_ = true;
};

TEST(AuditTrailTest, LosesOnlyTheRejectedRecordOfABatch) {
  RejectingAudit store;
  std::atomic<int64_t> lost = 0;
  AuditTrail trail(&store, [&](int64_t count) { lost += count; });
  for (const char* id : {"a", "b", "bad", "c"}) trail.Append(Record(id));
  trail.Flush();
  EXPECT_EQ(store.taken, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(lost, 1);
}

TEST(AuditTrailTest, CountsRecordsThatTheStoreRejects) {
  class UnavailableAudit final : public store::Audit {
    absl::Status AddAudit(const std::vector<store::AuditRecord>&) override {
      return absl::UnavailableError("unavailable");
    }
    absl::StatusOr<std::vector<store::AuditRecord>> ListAudit(const store::AuditQuery&) override {
      return absl::UnavailableError("unavailable");
    }
    absl::StatusOr<int> CountAudit(const store::AuditQuery&) override {
      return absl::UnavailableError("unavailable");
    }
  } unavailable;
  std::atomic<int64_t> lost = 0;
  AuditTrail trail(&unavailable, [&](int64_t count) { lost += count; });
  trail.Append(Record("a"));
  trail.Append(Record("b"));
  trail.Stop();
  EXPECT_EQ(lost, 2);
  trail.Append(Record("c"));
  EXPECT_EQ(lost, 3);
}

}  // namespace
}  // namespace det::api
