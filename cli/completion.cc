#include "cli/completion.h"

#include <algorithm>
#include <map>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"

namespace det::cli {
namespace {

using Words = std::vector<std::string>;

// Returns the number of words of an option: 2 if its value is the next word.
size_t CountOptionWords(const std::vector<Option>& options, const std::string& word) {
  if (absl::StrContains(word, "=")) return 1;
  for (const Option& option : options) {
    const bool named =
        absl::StartsWith(word, "--") ? word.substr(2) == option.name : word.back() == option.letter;
    if (named) return option.value.empty() ? 1 : 2;
  }
  return 1;
}

// Returns the words without the options before the command.
Words SkipLeadingOptions(const Words& words) {
  size_t first = 0;
  while (first < words.size() && absl::StartsWith(words[first], "-")) {
    first += CountOptionWords(CommonOptions(), words[first]);
  }
  return {words.begin() + static_cast<std::ptrdiff_t>(std::min(first, words.size())), words.end()};
}

// Returns the next words in a group, with the help of a command if the word completes it.
std::vector<Candidate> CompleteCommands(const std::vector<Command>& commands, const Words& group) {
  std::map<std::string, std::string> next;
  for (const Command& command : commands) {
    const bool within = command.path.size() > group.size() && IsShown(command) &&
                        std::equal(group.begin(), group.end(), command.path.begin());
    if (!within) continue;
    const bool whole = command.path.size() == group.size() + 1;
    next[command.path[group.size()]] = whole ? command.summary : "";
  }
  std::vector<Candidate> candidates;
  for (const auto& [word, help] : next) candidates.push_back({word, help});
  return candidates;
}

std::vector<Candidate> CompleteOptions(const std::vector<Option>& options) {
  std::vector<Candidate> candidates;
  for (const Option& option : options) {
    if (IsShown(option)) candidates.push_back({"--" + option.name, option.help});
  }
  return candidates;
}

// Returns the kind of objects whose names a positional accepts.
std::string GetNameKind(const Command& command, const std::string& name) {
  if (name == "JOB") return "EXPERIMENT";
  if (name == "NAME" && command.path[0] == "template") return "TEMPLATE";
  return name;
}

// Completes `last` after the words `rest` of a command.
std::vector<Candidate> CompleteArguments(const Command& command, const Words& rest,
                                         const std::string& last, NameSource names) {
  if (!IsShown(command)) return {};
  const std::vector<Option> options = GetOptions(command);
  Words plain;
  bool only_words = false;
  for (size_t i = 0; i < rest.size(); ++i) {
    if (only_words || rest[i].size() < 2 || rest[i][0] != '-') {
      plain.push_back(rest[i]);
    } else if (rest[i] == "--") {
      only_words = true;
    } else if (CountOptionWords(options, rest[i]) == 2 && ++i == rest.size()) {
      const std::string& word = rest.back();  // The last word is its value.
      const auto option = std::find_if(options.begin(), options.end(), [&](const Option& each) {
        return word == "--" + each.name || (word[1] != '-' && word.back() == each.letter);
      });
      return names(option->name == "template" ? "TEMPLATE" : option->value, plain);
    }
  }
  if (!only_words && absl::StartsWith(last, "-")) return CompleteOptions(options);
  if (command.positionals.empty()) return {};
  if (command.path[0] == "completion") return {{"bash", ""}, {"fish", ""}, {"zsh", ""}};
  size_t at = plain.size();
  if (command.positionals.back().repeated) at = std::min(at, command.positionals.size() - 1);
  if (at >= command.positionals.size()) return {};
  return names(GetNameKind(command, command.positionals[at].name), plain);
}

std::vector<Candidate> CompleteWord(const std::vector<Command>& commands, const Words& words,
                                    const std::string& last, NameSource names) {
  if (words.empty() && absl::StartsWith(last, "-")) return CompleteOptions(CommonOptions());
  const absl::StatusOr<FoundCommand> found = FindCommand(commands, words);
  if (!found.ok()) return {};
  // A group stands for its list command, but more words can follow.
  const bool whole = found->command != nullptr && found->command->path.size() == found->path.size();
  const bool options = absl::StartsWith(last, "-");
  if (!whole && !options) return CompleteCommands(commands, found->path);
  if (found->command == nullptr) return CompleteOptions(CommonOptions());
  const auto rest = words.begin() + static_cast<std::ptrdiff_t>(found->path.size());
  return CompleteArguments(*found->command, {rest, words.end()}, last, names);
}

}  // namespace

std::vector<Candidate> Complete(const std::vector<Command>& commands, Words words,
                                NameSource names) {
  std::string last;
  if (!words.empty()) {
    last = words.back();
    words.pop_back();
  }
  // The value of a leading option is any text.
  if (!words.empty() && SkipLeadingOptions(words).empty() && words.back()[0] == '-' &&
      CountOptionWords(CommonOptions(), words.back()) == 2) {
    return {};
  }
  std::vector<Candidate> candidates =
      CompleteWord(commands, SkipLeadingOptions(words), last, names);
  std::erase_if(candidates,
                [&](const Candidate& each) { return !absl::StartsWith(each.word, last); });
  return candidates;
}

}  // namespace det::cli
