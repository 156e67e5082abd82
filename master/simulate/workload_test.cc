#include "master/simulate/workload.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace det::simulate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Workload Parse(const std::string& text) {
  const auto workload = ParseWorkload(text, "w");
  EXPECT_TRUE(workload.ok()) << workload.status();
  return workload.value_or(Workload());
}

std::string GetRejection(const std::string& text) {
  const auto workload = ParseWorkload(text, "w");
  EXPECT_EQ(workload.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(workload.status().message());
}

Job Make(int arrival, int slots, absl::Duration length) {
  return {.arrival = absl::Seconds(arrival), .slots = slots, .length = length};
}

TEST(Workload, ReadsCsv) {
  EXPECT_THAT(Parse("# of an hour\n\narrival, slots, length\n90,8,2h\r\n1m,1,30\n"),
              ElementsAre(Make(60, 1, absl::Seconds(30)), Make(90, 8, absl::Hours(2))));
}

TEST(Workload, ReadsEveryColumn) {
  Job job = Make(5, 2, absl::Minutes(1));
  job.user = "42";
  job.workspace = "vision";
  job.priority = 7;
  job.weight = 2.5;
  job.max_run_time = absl::Hours(1);
  job.pool = "large";
  job.preemptible = false;
  const std::string header =
      "arrival,slots,length,user,workspace,priority,weight,max_run_time,pool,preemptible\n";
  EXPECT_THAT(Parse(header + "5,2,60,42,vision,7,2.5,1h,large,false\n"), ElementsAre(job));
  EXPECT_THAT(Parse(ToCsv({job}, "two\nlines")), ElementsAre(job));
  EXPECT_THAT(ToCsv({job}, "two\nlines"), HasSubstr("# two\n# lines\narrival,"));
  EXPECT_EQ(ToCsv({Make(5, 2, absl::Minutes(1))}, ""), "arrival,slots,length\n5,2,60\n");
}

TEST(Workload, ReadsYaml) {
  const auto both = ElementsAre(Make(0, 1, absl::Seconds(30)), Make(9, 4, absl::Minutes(90)));
  const std::string list =
      "- {arrival: 9, slots: 4, length: 90m}\n"
      "- {arrival: 0, slots: 1, length: 30}\n";
  EXPECT_THAT(Parse(list), both);
  EXPECT_THAT(Parse("jobs:\n" + list), both);
}

TEST(Workload, ReportsAllProblems) {
  EXPECT_EQ(GetRejection("arrival,slots,length,priority,gpus\n"
                         "0,two,60,42,\n"
                         "-1,1,0,100,\n"
                         "0,1,60,42,8\n"
                         "0,1\n"
                         ",1,60,,\n"),
            "w:2: slots: expected an integer from 0 to 16777216, found \"two\"\n"
            "w:3: arrival: expected seconds or a duration such as \"2h30m\", found -1\n"
            "w:3: length: must be longer than 0\n"
            "w:3: priority: expected an integer from 1 to 99, found 100\n"
            "w:4: gpus: unknown field; expected one of arrival, slots, length, user, workspace, "
            "priority, "
            "weight, max_run_time, pool, preemptible\n"
            "w:5: 2 cells; expected 5 columns\n"
            "w:6: arrival: is missing");
  EXPECT_THAT(GetRejection("- {arrival: 0, slots: 1, length: soon}\n"), HasSubstr("w:1: length: "));
  EXPECT_THAT(GetRejection("- 5\n"), HasSubstr("expected an object, found 5"));
  EXPECT_THAT(GetRejection("tasks: []\n"), HasSubstr("expected a list of jobs"));
  EXPECT_THAT(GetRejection("arrival,slots,length\n"), HasSubstr("has no jobs"));
  EXPECT_THAT(GetRejection(""), HasSubstr("has no jobs"));
  EXPECT_THAT(GetRejection("\xff\xfe"), HasSubstr("not UTF-8"));
}

}  // namespace
}  // namespace det::simulate
