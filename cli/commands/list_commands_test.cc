// Properties of all list commands: output as a table, CSV and JSON, and paging.
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "cli/command.h"
#include "cli/testing/run_det.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace det::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A response that every list command can parse.
constexpr char kAny[] = R"({"workspaces":[{"id":1,"name":"w"}],"projects":[{"id":1,"name":"p"}],
    "user":{"id":1,"username":"u"},"users":[{"id":1,"username":"u"}],"webhooks":[{"id":1}],
    "resourcePools":[{"name":"default"}],"roles":[{"roleId":1,"name":"Viewer"}]})";

// Returns a sample value of a positional.
std::string GetSampleWord(const std::string& name) {
  static const auto& words = *new std::map<std::string, std::string>{
      {"WORKSPACE", "w"}, {"PROJECT", "p"}, {"MODEL", "m"}, {"POOL", "default"}, {"USER", "u"}};
  const auto found = words.find(name);
  return found == words.end() ? "1" : found->second;
}

bool IsList(const Command& command) {
  const std::string& last = command.path.back();
  return IsShown(command) && (last == "list" || absl::StartsWith(last, "list-"));
}

// Returns the command with values for its required and ID positionals.
std::string MakeCommandLine(const Command& command) {
  std::string line = absl::StrJoin(command.path, " ");
  for (const Positional& word : command.positionals) {
    if (word.name != "PART") absl::StrAppend(&line, " ", GetSampleWord(word.name));
  }
  return line;
}

class ListCommandsTest : public ::testing::Test {
 protected:
  // Some commands use "resourcePools" with another type.
  static DetResult Run(const std::string& line) {
    std::string any = kAny;
    if (absl::StartsWith(line, "workspace list-pools")) {
      any = absl::StrReplaceAll(any, {{R"([{"name":"default"}])", R"(["default"])"}});
    }
    if (absl::StartsWith(line, "rbac list-groups-roles")) {
      any.insert(1, R"("groups":[{"group":{"groupId":1,"name":"1"}}],)");
    }
    return RunDet(line, std::vector<std::string>(4, any));
  }
  CleanEnvironment environment_;
};

TEST_F(ListCommandsTest, PrintsTableCsvAndJson) {
  int lists = 0;
  for (const Command& command : AllCommands()) {
    if (!IsList(command)) continue;
    const std::string line = MakeCommandLine(command);
    SCOPED_TRACE(line);
    ++lists;
    const DetResult table = Run(line);
    ASSERT_TRUE(table.code.ok()) << table.code.status();
    const DetResult csv = Run(line + " --csv");
    ASSERT_TRUE(csv.code.ok()) << csv.code.status();
    const std::string header = csv.out.substr(0, csv.out.find('\n'));
    EXPECT_FALSE(header.empty());
    EXPECT_THAT(header, Not(HasSubstr("  "))) << "columns are parted by commas";
    if (!table.out.empty()) {
      EXPECT_TRUE(absl::StartsWith(table.out, header.substr(0, header.find(','))));
    }
    const DetResult json = Run(line + " --json");
    ASSERT_TRUE(json.code.ok()) << json.code.status();
    EXPECT_TRUE(nlohmann::json::accept(json.out)) << json.out;
  }
  EXPECT_GT(lists, 25);
}

TEST_F(ListCommandsTest, PagesLongLists) {
  const char* first = R"({"workspaces":[{"id":3,"name":"w"}],"pagination":{"total":7}})";
  const DetResult part = RunDet("workspace list --limit 1 --offset 2", {first});
  ASSERT_TRUE(part.code.ok()) << part.code.status();
  EXPECT_THAT(part.requests[0], HasSubstr("limit=1"));
  EXPECT_THAT(part.requests[0], HasSubstr("offset=2"));
  EXPECT_THAT(part.err, HasSubstr("1 of 7 workspaces; use --limit and --offset for more"));
  const DetResult beyond = RunDet("workspace list --offset 9", {R"({"pagination":{"total":7}})"});
  EXPECT_THAT(beyond.err, HasSubstr("no rows at this --offset; the list has 7 workspaces"));
  EXPECT_THAT(RunDet("experiment list", {"{}"}).requests[0], HasSubstr("limit=100"));
  EXPECT_THAT(RunDet("experiment list --pages all --limit 5", {"{}"}).requests[0],
              Not(HasSubstr("limit=")));
  EXPECT_TRUE(IsUsageError(RunDet("model list --pages 3", {}).code.status()));
  for (const char* line :
       {"experiment list-trials 7", "experiment list-checkpoints 7", "model list",
        "model list-versions m", "user list", "token list", "template list"}) {
    EXPECT_THAT(RunDet(absl::StrCat(line, " --limit 2"), {"{}"}).requests[0], HasSubstr("limit=2"))
        << line;
  }
  EXPECT_TRUE(
      IsUsageError(RunDet("experiment list-checkpoints 7 --best 2 --limit 1", {}).code.status()));
}

}  // namespace
}  // namespace det::cli
