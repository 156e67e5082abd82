#include "cli/completion.h"

#include <algorithm>
#include <map>

#include "absl/strings/match.h"

namespace det::cli {
namespace {

using Words = std::vector<std::string>;

// How many words an option takes: 2 where its value is the next one.
size_t WordsOf(const std::vector<Option>& options, const std::string& word) {
  if (absl::StrContains(word, "=")) return 1;
  for (const Option& option : options) {
    const bool named =
        absl::StartsWith(word, "--") ? word.substr(2) == option.name : word.back() == option.letter;
    if (named) return option.value.empty() ? 1 : 2;
  }
  return 1;
}

// Without the options in front of the command.
Words FromCommand(const Words& words) {
  size_t first = 0;
  while (first < words.size() && absl::StartsWith(words[first], "-")) {
    first += WordsOf(CommonOptions(), words[first]);
  }
  return {words.begin() + static_cast<std::ptrdiff_t>(std::min(first, words.size())), words.end()};
}

// The words that come next in a group, each with the help of the one command that it begins.
std::vector<Candidate> NextWords(const std::vector<Command>& commands, const Words& group) {
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

std::vector<Candidate> OptionWords(const std::vector<Option>& options) {
  std::vector<Candidate> candidates;
  for (const Option& option : options) {
    if (option.instead.empty()) candidates.push_back({"--" + option.name, option.help});
  }
  return candidates;
}

// Whose names a word of a command is.
std::string KindOf(const Command& command, const std::string& name) {
  if (name == "JOB") return "EXPERIMENT";
  if (name == "NAME" && command.path[0] == "template") return "TEMPLATE";
  return name;
}

// Of the words of a command, the last of which is `last`.
std::vector<Candidate> Within(const Command& command, const Words& rest, const std::string& last,
                              NameSource names) {
  if (!IsShown(command)) return {};
  const std::vector<Option> options = GetOptions(command);
  Words plain;
  bool only_words = false;
  for (size_t i = 0; i < rest.size(); ++i) {
    if (only_words || rest[i].size() < 2 || rest[i][0] != '-') {
      plain.push_back(rest[i]);
    } else if (rest[i] == "--") {
      only_words = true;
    } else if (WordsOf(options, rest[i]) == 2 && ++i == rest.size()) {
      const std::string& word = rest.back();  // Its value is what is typed.
      const auto option = std::find_if(options.begin(), options.end(), [&](const Option& each) {
        return word == "--" + each.name || (word[1] != '-' && word.back() == each.letter);
      });
      return names(option->name == "template" ? "TEMPLATE" : option->value, plain);
    }
  }
  if (!only_words && absl::StartsWith(last, "-")) return OptionWords(options);
  if (command.positionals.empty()) return {};
  if (command.path[0] == "completion") return {{"bash", ""}, {"fish", ""}, {"zsh", ""}};
  size_t at = plain.size();
  if (command.positionals.back().repeated) at = std::min(at, command.positionals.size() - 1);
  if (at >= command.positionals.size()) return {};
  return names(KindOf(command, command.positionals[at].name), plain);
}

std::vector<Candidate> All(const std::vector<Command>& commands, const Words& words,
                           const std::string& last, NameSource names) {
  if (words.empty() && absl::StartsWith(last, "-")) return OptionWords(CommonOptions());
  const absl::StatusOr<FoundCommand> found = FindCommand(commands, words);
  if (!found.ok()) return {};
  // A group stands for its list, but may go on.
  const bool whole = found->command != nullptr && found->command->path.size() == found->path.size();
  const bool options = absl::StartsWith(last, "-");
  if (!whole && !options) return NextWords(commands, found->path);
  if (found->command == nullptr) return OptionWords(CommonOptions());
  const auto rest = words.begin() + static_cast<std::ptrdiff_t>(found->path.size());
  return Within(*found->command, {rest, words.end()}, last, names);
}

}  // namespace

std::vector<Candidate> Complete(const std::vector<Command>& commands, Words words,
                                NameSource names) {
  std::string last;
  if (!words.empty()) {
    last = words.back();
    words.pop_back();
  }
  // The value of an option in front is any text.
  if (!words.empty() && FromCommand(words).empty() && words.back()[0] == '-' &&
      WordsOf(CommonOptions(), words.back()) == 2) {
    return {};
  }
  std::vector<Candidate> candidates = All(commands, FromCommand(words), last, names);
  std::erase_if(candidates,
                [&](const Candidate& each) { return !absl::StartsWith(each.word, last); });
  return candidates;
}

}  // namespace det::cli
