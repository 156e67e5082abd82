#include "gtest/gtest.h"
#include "master/api/common/convert.h"

namespace det::api {
namespace {

store::LogRecord MakeRecord() {
  store::LogRecord record;
  record.id = 7;
  record.line.task = model::TaskId("1.2");
  record.line.allocation = model::AllocationId("1.2.0");
  record.line.container = "container-0";
  record.line.time = absl::FromUnixMicros(1'767'323'040'123'456);
  record.line.rank = 3;
  record.line.level = model::LogLevel::kWarning;
  record.line.text = "slow";
  return record;
}

TEST(ConvertLogTest, FormatsMessageForDisplay) {
  const v1::TrialLogsResponse line = ToTrialLog(MakeRecord(), model::TrialId(2));
  EXPECT_EQ(line.message(), "[2026-01-02T03:04:00.123456Z] containe [rank=3] || WARNING: slow\n");
  EXPECT_EQ(line.log(), "slow");
  EXPECT_EQ(line.container_id(), "container-0");
}

TEST(ConvertLogTest, LeavesOutUnknownPartsOfMessage) {
  store::LogRecord record = MakeRecord();
  record.line.container.clear();
  record.line.allocation = model::AllocationId();
  record.line.rank.reset();
  record.line.level = model::LogLevel::kUnknown;
  record.line.text = "two\nlines\n";
  EXPECT_EQ(ToTaskLog(record).message(), "[2026-01-02T03:04:00.123456Z]          || two\nlines\n");
}

TEST(ConvertLogTest, LeavesOutCarriageReturnOfProgressBarInMessage) {
  store::LogRecord record = MakeRecord();
  record.line.text = "10%\r";
  const v1::TaskLogsResponse line = ToTaskLog(record);
  EXPECT_EQ(line.message(), "[2026-01-02T03:04:00.123456Z] containe [rank=3] || WARNING: 10%\n");
  EXPECT_EQ(line.log(), "10%\r") << "tells that the next line overwrites it";
}

TEST(ConvertLogTest, UsesAllocationAsContainer) {
  store::LogRecord record = MakeRecord();
  record.line.container.clear();
  EXPECT_EQ(ToTaskLog(record).container_id(), "1.2.0");
}

}  // namespace
}  // namespace det::api
