#include "cli/command.h"

#include <cstdlib>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cli/help.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace det::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Found(const std::string& line) {
  static const auto& commands = *new std::vector<Command>(AllCommands());
  const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
  const auto found = FindCommand(commands, words);
  if (!found.ok()) return std::string(found.status().message());
  const std::string path = absl::StrJoin(found->path, " ");
  if (found->command == nullptr) return absl::StrCat("group ", path);
  const std::string whole = absl::StrJoin(found->command->path, " ");
  EXPECT_THAT(whole, testing::StartsWith(path));
  return whole;
}

TEST(FindCommandTest, AcceptsFullNamesAliasesAndPrefixes) {
  const std::pair<const char*, const char*> kRows[] = {
      {"experiment create a b", "experiment create"},
      {"e create", "experiment create"},
      {"exp desc 3", "experiment describe"},
      {"e ls", "experiment list"},
      {"experiment", "experiment list"},
      {"", "group "},
      {"e --help", "group experiment"},
      {"deploy", "group deploy"},
      {"d loc", "group deploy local"},
      {"t logs 4 -f", "trial logs"},
      {"c download x", "checkpoint download"},
      {"a ls", "agent list"},
      {"s l", "slot list"},
      {"j ls", "job list"},
      {"job update 7 -p 3", "job update"},
      {"rp ls", "resource-pool list"},
      {"rp bindings add p w", "resource-pool bindings add"},
      {"e set weight 7 2", "experiment set weight"},
      {"m describe x", "model describe"},
      {"tpl rm x", "template remove"},
      {"d local up", "deploy local up"},
      {"dev config", "dev config-schema"},
      {"version", "version"},
      {"experiment --json", "experiment list"},
      {"master config", "master config show"},
      {"cmd run ls -l", "command run"},
      {"user ls", "user list"},
      {"use ls", "user list"},
  };
  for (const auto& [line, path] : kRows) EXPECT_EQ(Found(line), path) << line;
}

TEST(FindCommandTest, SuggestsNearestOrAllCommands) {
  EXPECT_THAT(Found("expriment list"), HasSubstr("did you mean `det experiment`"));
  EXPECT_THAT(Found("experiment lits"), HasSubstr("did you mean `det experiment list`"));
  EXPECT_THAT(Found("zebra"), HasSubstr("expected one of: agent, checkpoint, cluster"));
  EXPECT_THAT(Found("up"), HasSubstr("did you mean `det deploy local up`?"));
  EXPECT_THAT(Found("deploy up"), HasSubstr("did you mean `det deploy local up`?"));
  EXPECT_THAT(Found("local up"), HasSubstr("did you mean `det deploy local`?"));
  EXPECT_THAT(Found("logs"),
              HasSubstr("`det experiment logs` or `det master logs` or `det notebook logs`"));
  EXPECT_THAT(Found("experiment c"),
              HasSubstr("is ambiguous: cancel or config or continue or create"));
}

TEST(HelpTextTest, ListsCommandsOfGroup) {
  const std::vector<Command> commands = AllCommands();
  const std::string experiment = HelpText(commands, {"experiment"}, Style());
  for (const char* part : {"det experiment create CONFIG [CONTEXT_DIR]", "det experiment logs",
                           "Wait until an experiment has ended", "--json"}) {
    EXPECT_THAT(experiment, HasSubstr(part));
  }
  EXPECT_THAT(experiment, Not(HasSubstr("det trial")));
  EXPECT_THAT(HelpText(commands, {"deploy", "local"}, Style()), HasSubstr("det deploy local up"));
  EXPECT_THAT(std::string(MissingCommandError(commands, {"deploy", "local"}).message()),
              HasSubstr("`det deploy local` needs one of: agent-down, agent-up, cluster-down, "
                        "cluster-up, down, logs, master-down, master-up, status, up"));
  EXPECT_THAT(std::string(MissingCommandError(commands, {}).message()),
              HasSubstr("`det` needs one of: "));
}

// A help text is imperative, begins with an upper-case letter, has no full stop and fits one line.
bool IsHelpText(const std::string& text) {
  return text.size() < 70 && !absl::EndsWith(text, ".") && !absl::ascii_islower(text[0]);
}

TEST(CommandsTest, HelpTextsFollowStyle) {
  for (const Command& command : AllCommands()) {
    if (!command.instead.empty()) continue;
    const std::string path = absl::StrJoin(command.path, " ");
    EXPECT_TRUE(IsHelpText(command.summary)) << path << ": " << command.summary;
    for (const Positional& word : command.positionals) {
      EXPECT_TRUE(IsHelpText(word.help)) << path << " " << word.name << ": " << word.help;
    }
    for (const Option& option : GetOptions(command)) {
      if (!option.instead.empty()) continue;
      EXPECT_TRUE(IsHelpText(option.help)) << path << " --" << option.name << ": " << option.help;
    }
  }
}

TEST(CommandsTest, HasHelpAndUniqueOptions) {
  std::set<std::string> paths;
  for (const Command& command : AllCommands()) {
    const std::string path = absl::StrJoin(command.path, " ");
    EXPECT_TRUE(paths.insert(path).second) << path;
    EXPECT_NE(command.run == nullptr, command.instead.empty()) << path;
    EXPECT_FALSE(command.summary.empty()) << path;
    std::set<std::string> names;
    std::set<char> letters;
    for (const Option& option : GetOptions(command)) {
      EXPECT_TRUE(names.insert(option.name).second) << path << " --" << option.name;
      EXPECT_TRUE(option.letter == 0 || letters.insert(option.letter).second) << path;
      EXPECT_EQ(option.help.empty(), !IsShown(option)) << path << " --" << option.name;
    }
    EXPECT_THAT(HelpText(command, Style()), HasSubstr("det " + path));
  }
}

// Returns the values of the required positionals.
std::vector<std::string> MakeWords(const Command& command) {
  std::vector<std::string> words;
  for (const Positional& positional : command.positionals) {
    if (!positional.optional) words.emplace_back("1");
  }
  return words;
}

TEST(CommandsTest, ReportsWrongUseInOneSentence) {
  Screen screen{Style(), Style()};
  for (const Command& command : AllCommands()) {
    if (!IsShown(command)) continue;
    const std::string path = absl::StrJoin(command.path, " ");
    std::vector<std::vector<std::string>> wrong = {{"--no-such-option"}, {"--json=x"}, {"--user"}};
    if (!MakeWords(command).empty()) wrong.emplace_back();
    for (const std::vector<std::string>& words : wrong) {
      const absl::StatusOr<int> code = RunWords(command, words, &screen);
      EXPECT_TRUE(IsUsageError(code.status())) << path << " " << code.status();
      const std::string text(code.status().message());
      EXPECT_THAT(text, HasSubstr(path));
      EXPECT_THAT(text, HasSubstr("ee `det " + path + " --help`"));
      EXPECT_EQ(text.find('\n'), text.npos) << text;
    }
  }
}

TEST(CommandsTest, NamesAddress_WhenMasterIsAway) {
  setenv("DET_MASTER", "http://127.0.0.1:1", 1);
  setenv("DET_USER_TOKEN", "t", 1);
  Screen screen{Style(), Style()};
  int checked = 0;
  for (const Command& command : AllCommands()) {
    const std::string& verb = command.path.back();
    const bool reads = verb == "list" || verb == "describe" || verb == "logs" || verb == "kill" ||
                       verb == "wait" || verb == "info" || verb == "whoami";
    if (!IsShown(command) || !reads || command.path[0] == "deploy" || command.path[0] == "dev") {
      continue;
    }
    std::vector<std::string> words = MakeWords(command);
    if (command.path[0] == "config-policies") words[0] = "experiment";
    const std::string path = absl::StrJoin(command.path, " ");
    if (path == "checkpoint list") words = {"1"};
    const absl::StatusOr<int> code = RunWords(command, words, &screen);
    EXPECT_TRUE(absl::IsUnavailable(code.status())) << path << " " << code.status();
    EXPECT_TRUE(absl::StartsWith(code.status().message(),
                                 "cannot reach the master at http://127.0.0.1:1 (connection"))
        << path << " " << code.status();
    ++checked;
  }
  EXPECT_GT(checked, 30);
  unsetenv("DET_MASTER");
  unsetenv("DET_USER_TOKEN");
}

TEST(CommandsTest, WrapsHelp_WhenTerminalIsNarrow) {
  Style narrow;
  narrow.width = 20;
  for (const Command& command : AllCommands()) {
    if (!IsShown(command)) continue;
    EXPECT_FALSE(HelpText(command, narrow).empty()) << absl::StrJoin(command.path, " ");
  }
  EXPECT_THAT(HelpText(AllCommands(), {}, narrow), HasSubstr("experiment"));
}

TEST(CommandsTest, UnsupportedCommandsNameAlternative) {
  Screen screen{Style(), Style()};
  int instead = 0;
  for (const Command& command : AllCommands()) {
    if (command.instead.empty()) continue;
    ++instead;
    const std::string path = absl::StrJoin(command.path, " ");
    const absl::Status status = RunWords(command, {"--any", "-x", "words"}, &screen).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented) << path;
    EXPECT_THAT(std::string(status.message()), HasSubstr("`det " + path + "` is not supported: "));
    EXPECT_THAT(std::string(status.message()), HasSubstr("`det ")) << path << " names no command";
    EXPECT_THAT(HelpText(AllCommands(), {}, Style()), Not(HasSubstr("det " + path + " "))) << path;
  }
  EXPECT_GE(instead, 8);
  EXPECT_THAT(Found("resource-quota"), Not(HasSubstr("workspace resource-quota")))
      << "not suggested";
}

}  // namespace
}  // namespace det::cli
