#include "cli/completion.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cli/testing/run_det.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace det::cli {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Returns the candidates for the last word of a line; a line that ends with a space starts a new
// word. Names that would be fetched from the master appear as "<KIND>".
std::vector<std::string> Words(const std::string& line) {
  static const auto& commands = *new std::vector<Command>(AllCommands());
  std::vector<std::string> words = absl::StrSplit(line, ' ');
  std::vector<std::string> found;
  std::string kind;
  for (const Candidate& each :
       Complete(commands, words, [&](const std::string&kind_name, const auto&before) {
         kind = absl::StrCat("<", kind_name, " ", absl::StrJoin(before, ","), ">");
         return std::vector<Candidate>();
       })) {
    found.push_back(each.word);
  }
  if (!kind.empty()) found.push_back(kind);
  return found;
}

TEST(CompletionTest, CompletesCommandsByPrefix) {
  EXPECT_THAT(Words("exp"), ElementsAre("experiment"));
  EXPECT_THAT(Words("experiment li"), ElementsAre("list", "list-checkpoints", "list-trials"));
  EXPECT_THAT(Words("e set n"), ElementsAre("name"));
  EXPECT_THAT(Words("deploy "), ElementsAre("backup", "local", "restore"));
  EXPECT_THAT(Words(""), AllOf(Contains("experiment"), Not(Contains("__complete"))));
  EXPECT_THAT(Words("nonsense "), IsEmpty());
}

TEST(CompletionTest, CompletesOptions) {
  EXPECT_THAT(Words("experiment list --l"), ElementsAre("--limit"));
  EXPECT_THAT(Words("experiment --l"), ElementsAre("--limit"));
  EXPECT_THAT(Words("--no"), ElementsAre("--no-color"));
  EXPECT_THAT(Words("-m http://x exp"), ElementsAre("experiment"));
  EXPECT_THAT(Words("-m "), IsEmpty());
}

TEST(CompletionTest, CompletesEveryWordAndOption) {
  for (const Command& command : AllCommands()) {
    std::string line;
    for (const std::string& word : command.path) {
      const std::vector<std::string> found = Words(line + word.substr(0, word.size() - 1));
      if (IsShown(command)) {
        EXPECT_THAT(found, Contains(word)) << line << word;
      }
      absl::StrAppend(&line, word, " ");
    }
    if (!IsShown(command)) continue;
    std::vector<std::string> options;
    for (const Option& option : GetOptions(command)) {
      if (!IsShown(option)) continue;
      EXPECT_THAT(Words(absl::StrCat(line, "--", option.name)), Contains("--" + option.name))
          << line;
      options.push_back("--" + option.name);
    }
    EXPECT_THAT(Words(line + "--"), ::testing::UnorderedElementsAreArray(options)) << line;
  }
  EXPECT_THAT(Words("workspace "), Not(Contains("bindings"))) << "not what there is not";
}

TEST(CompletionTest, CompletesNamesFromMaster) {
  EXPECT_THAT(Words("e describe "), ElementsAre("<EXPERIMENT >"));
  EXPECT_THAT(Words("e describe 1"), ElementsAre("<EXPERIMENT >"));
  EXPECT_THAT(Words("notebook open "), ElementsAre("<NOTEBOOK >"));
  EXPECT_THAT(Words("e move 7 "), ElementsAre("<WORKSPACE 7>"));
  EXPECT_THAT(Words("e move 7 vision "), ElementsAre("<PROJECT 7,vision>"));
  EXPECT_THAT(Words("e logs 7 "), IsEmpty());
  EXPECT_THAT(Words("e describe 7 "), ElementsAre("<EXPERIMENT 7>")) << "it takes several";
  EXPECT_THAT(Words("agent disable --drain "), ElementsAre("<AGENT >"));
  EXPECT_THAT(Words("job list -p "), ElementsAre("<POOL >"));
  EXPECT_THAT(Words("template describe "), ElementsAre("<TEMPLATE >"));
  EXPECT_THAT(Words("e create --template "), ElementsAre("<TEMPLATE >"));
  EXPECT_THAT(Words("-u "), IsEmpty());
  EXPECT_THAT(Words("e list -u "), ElementsAre("<USER >"));
}

TEST(CompletionTest, FindsCommandThatScriptsOfShellsCall) {
  const std::vector<Command> commands = AllCommands();
  const auto found = FindCommand(commands, {"__complete", "--", "experiment", "desc"});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(found->path, ElementsAre("__complete"));
}

TEST(CompletionTest, PrintsScriptsForShells) {
  EXPECT_THAT(Words("completion "), ElementsAre("bash", "fish", "zsh"));
  for (const char* shell : {"bash", "zsh", "fish"}) {
    EXPECT_THAT(RunDet(absl::StrCat("completion ", shell), {}).out, HasSubstr("__complete --"));
  }
  EXPECT_FALSE(RunDet("completion tcsh", {}).code.ok());
}

}  // namespace
}  // namespace det::cli
