#include "master/api/resources/usage_report.h"

#include <optional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace det::api {
namespace {

absl::Time ParseTime(const std::string& text) {
  absl::Time time;
  EXPECT_TRUE(absl::ParseTime(absl::RFC3339_full, text, &time, nullptr)) << text;
  return time;
}

store::UsageRecord MakeUsage(const std::string& user, const std::string& from,
                             const std::string& until, double slots) {
  store::UsageRecord record;
  record.experiment = model::ExperimentId(7);
  record.username = user;
  record.resource_pool = "gpu";
  record.slots = slots;
  record.started_at = ParseTime(from);
  if (!until.empty()) record.ended_at = ParseTime(until);
  return record;
}

v1::ResourceAllocationRawRequest Raw(const std::string& from, const std::string& until) {
  v1::ResourceAllocationRawRequest request;
  request.set_timestamp_after(from);
  request.set_timestamp_before(until);
  return request;
}

v1::ResourceAllocationAggregatedRequest Days(const std::string& first, const std::string& last,
                                             bool monthly = false) {
  v1::ResourceAllocationAggregatedRequest request;
  request.set_start_date(first);
  request.set_end_date(last);
  if (monthly) request.set_period(v1::RESOURCE_ALLOCATION_AGGREGATION_PERIOD_MONTHLY);
  return request;
}

TEST(UsageReportTest, ParsesEachTimeFormatThatClientsSend) {
  const auto span = ParseSpan(Raw("2026-11-20", "2026-11-21T06:30:00+02:00"));
  ASSERT_TRUE(span.ok()) << span.status();
  EXPECT_EQ(span->from, ParseTime("2026-11-20T00:00:00Z"));
  EXPECT_EQ(span->until, ParseTime("2026-11-21T04:30:00Z"));
  EXPECT_EQ(ParseSpan(Raw("2026-11-20T01:00:00", "2026-11-20T01:00:00.5Z"))->from,
            ParseTime("2026-11-20T01:00:00Z"));
  EXPECT_TRUE(absl::IsInvalidArgument(ParseSpan(Raw("yesterday", "2026-11-21")).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(ParseSpan(Raw("2026-11-21", "2026-11-21")).status()));

  EXPECT_EQ(ParseSpan(Days("2026-11-20T09:00:00", "2026-11-20"))->until,
            ParseTime("2026-11-21T00:00:00Z"));
  EXPECT_EQ(ParseSpan(Days("2026-11-20", "2026-12-01", true))->from,
            ParseTime("2026-11-01T00:00:00Z"));
  EXPECT_EQ(ParseSpan(Days("2026-11-20", "2026-12-01", true))->until,
            ParseTime("2027-01-01T00:00:00Z"));
  EXPECT_EQ(ParseSpan(Days("2026-11", "2026-12", true))->from, ParseTime("2026-11-01T00:00:00Z"));
}

TEST(UsageReportTest, CapacityHasAnEnd_WhenKnown) {
  const absl::Time begin = ParseTime("2026-11-20T00:00:00Z"),
                   end = ParseTime("2026-11-21T00:00:00Z");
  const auto report = MakeCapacityReport({{model::AgentId("a"), "gpu", 8, begin, end},
                                          {model::AgentId("b"), "cpu", 2, begin, std::nullopt}});
  ASSERT_EQ(report.entries_size(), 2);
  EXPECT_EQ(report.entries(0).agent_id(), "a");
  EXPECT_EQ(report.entries(0).resource_pool(), "gpu");
  EXPECT_EQ(report.entries(0).slots(), 8);
  EXPECT_EQ(report.entries(0).start_time().seconds(), absl::ToUnixSeconds(begin));
  EXPECT_EQ(report.entries(0).end_time().seconds(), absl::ToUnixSeconds(end));
  EXPECT_FALSE(report.entries(1).has_end_time());
  v1::GetCapacityRequest request;
  request.set_timestamp_after("2026-11-20");
  request.set_timestamp_before("2026-11-21");
  EXPECT_EQ(ParseSpan(request)->until, end);
}

TEST(UsageReportTest, RawReportCountsOnlyUsageInTheSpan) {
  store::UsageRecord ended = MakeUsage("ann", "2026-11-20T23:00:00Z", "2026-11-21T01:00:00Z", 2);
  ended.labels = {"a", "b \"c\""};
  const auto report =
      MakeRawReport({ended, MakeUsage("b,n", "2026-11-21T01:00:00Z", "", 0.5)},
                    {ParseTime("2026-11-21T00:00:00Z"), ParseTime("2026-11-22T00:00:00Z")},
                    ParseTime("2026-11-21T02:00:00Z"));
  EXPECT_EQ(ToCsv(report),
            "experiment_id,kind,username,labels,slots,start_time,end_time,seconds\n"
            "7,training,ann,\"a,b \"\"c\"\"\",2,2026-11-20T23:00:00Z,2026-11-21T01:00:00Z,3600\n"
            "7,training,\"b,n\",,0.5,2026-11-21T01:00:00Z,,3600\n");
}

TEST(UsageReportTest, EscapesNamesThatSpreadsheetsTreatAsFormulas) {
  store::UsageRecord record =
      MakeUsage("=cmd()", "2026-11-21T00:00:00Z", "2026-11-21T01:00:00Z", 1);
  record.labels = {"@a", "b"};
  const std::string csv = ToCsv(MakeRawReport(
      {record}, {ParseTime("2026-11-21T00:00:00Z"), ParseTime("2026-11-22T00:00:00Z")},
      ParseTime("2026-11-21T02:00:00Z")));
  EXPECT_THAT(csv, ::testing::HasSubstr("\n7,training,'=cmd(),\"'@a,b\",1,"));
}

TEST(UsageReportTest, AggregatesBySlotsDaysAndMonths) {
  store::UsageRecord two = MakeUsage("ann", "2026-11-29T23:00:00Z", "2026-12-01T01:00:00Z", 2);
  two.labels = {"x"};
  const std::vector<store::UsageRecord> usage = {
      two, MakeUsage("ben", "2026-11-30T00:00:00Z", "2026-11-30T00:00:10Z", 1),
      MakeUsage("without-slots", "2026-11-30T00:00:00Z", "2026-11-30T00:00:10Z", 0)};
  const absl::Time now = ParseTime("2026-12-05T00:00:00Z");
  const auto daily = ParseSpan(Days("2026-11-30", "2026-12-01"));
  EXPECT_EQ(ToCsv(MakeAggregatedReport(usage, *daily, false, now)),
            "aggregation_type,aggregation_key,date,seconds\n"
            "total,total,2026-11-30,172810\n"
            "username,ann,2026-11-30,172800\n"
            "username,ben,2026-11-30,10\n"
            "experiment_label,x,2026-11-30,172800\n"
            "resource_pool,gpu,2026-11-30,172810\n"
            "total,total,2026-12-01,7200\n"
            "username,ann,2026-12-01,7200\n"
            "experiment_label,x,2026-12-01,7200\n"
            "resource_pool,gpu,2026-12-01,7200\n");
  const auto monthly = ParseSpan(Days("2026-11-01", "2026-12-01", true));
  const auto report = MakeAggregatedReport(usage, *monthly, true, now);
  ASSERT_EQ(report.resource_entries_size(), 2);
  EXPECT_THAT(ToCsv(MakeAggregatedReport({MakeUsage("y", "2025-01-01T00:00:00Z", "", 1.5)},
                                         {ParseTime("2025-01-01T00:00:00Z"), now}, true, now)),
              testing::HasSubstr("total,total,2025-01,4017600\n"));
  EXPECT_EQ(report.resource_entries(0).period_start(), "2026-11");
  EXPECT_EQ(report.resource_entries(0).seconds(), 2 * 25 * 3600 + 10);
  EXPECT_EQ(report.resource_entries(1).by_username().at("ann"), 7200);
}

TEST(UsageReportTest, ListsEachAllocationInOneLine) {
  store::UsageRecord record = MakeUsage("ann", "2026-11-20T23:00:00Z", "2026-11-21T01:00:00Z", 2);
  record.allocation = model::AllocationId("1.1.0");
  record.workspace = "vision";
  record.experiment = model::ExperimentId(1);
  record.resource_pool = "gpu";
  const UsageSpan span{ParseTime("2026-11-21T00:00:00Z"), ParseTime("2026-11-22T00:00:00Z")};
  EXPECT_EQ(ToAllocationsCsv(MakeRawReport({record}, span, ParseTime("2026-11-22T00:00:00Z"))),
            "allocation_id,task_type,username,workspace_name,experiment_id,slots,start_time,"
            "end_time,imagepulling_time,slot_hours,resource_pool\n"
            "1.1.0,TRIAL,ann,vision,1,2,2026-11-20T23:00:00Z,2026-11-21T01:00:00Z,,2,gpu\n");
}

TEST(UsageReportTest, NamesKindInsteadOfExperiment_WhenTaskIsNotTrial) {
  store::UsageRecord record = MakeUsage("ann", "2026-11-21T00:00:00Z", "2026-11-21T01:00:00Z", 2);
  record.kind = model::TaskKind::kNotebook;
  record.experiment = {};
  record.allocation = model::AllocationId("uuid.1");
  const UsageSpan span{ParseTime("2026-11-21T00:00:00Z"), ParseTime("2026-11-22T00:00:00Z")};
  const auto report = MakeRawReport({record}, span, span.until);
  EXPECT_THAT(ToCsv(report), testing::HasSubstr("\n,notebook,ann,,2,2026-11-21T00:00:00Z,"));
  EXPECT_THAT(ToAllocationsCsv(report),
              testing::HasSubstr("\nuuid.1,NOTEBOOK,ann,,,2,2026-11-21T00:00:00Z,"));
}

}  // namespace
}  // namespace det::api
