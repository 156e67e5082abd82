#include "cli/arguments.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/edit_distance.h"
#include "base/status_macros.h"

namespace det::cli {
namespace {

constexpr char kUsagePayload[] = "det/usage";

absl::StatusOr<const Option*> FindLong(const std::vector<Option>& options, absl::string_view name) {
  std::vector<std::string> names;
  // Scripts may say --project_id.
  const std::string dashed = absl::StrReplaceAll(name, {{"_", "-"}});
  for (const Option& option : options) {
    if (option.name == dashed) return &option;
    if (option.instead.empty()) names.push_back(option.name);
  }
  const std::optional<std::string> near = FindNearest(name, names);
  return UsageError(absl::StrCat("unknown option --", name,
                                 near ? absl::StrCat("; did you mean --", *near, "?") : ""));
}

absl::StatusOr<const Option*> FindLetter(const std::vector<Option>& options, char letter) {
  for (const Option& option : options) {
    if (option.letter == letter) return &option;
  }
  return UsageError(absl::StrCat("unknown option -", std::string(1, letter)));
}

absl::StatusOr<const Option*> Served(const absl::StatusOr<const Option*>& found) {
  if (!found.ok() || (*found)->instead.empty()) return found;
  return UsageError(absl::StrCat("--", (*found)->name, " is not supported: ", (*found)->instead));
}

// One word that begins with a dash; takes its value from `argv` if it needs the next word.
absl::Status TakeOption(const std::vector<Option>& options, const std::vector<std::string>& argv,
                        size_t* index, Arguments* out) {
  const std::string& word = argv[*index];
  const bool is_long = absl::StartsWith(word, "--");
  const size_t equals = word.find('=');
  const Option* option = nullptr;
  std::optional<std::string> value;
  if (is_long) {
    DET_ASSIGN_OR_RETURN(
        option, Served(FindLong(options, absl::string_view(word).substr(
                                             2, equals == word.npos ? word.npos : equals - 2))));
    if (equals != word.npos) value = word.substr(equals + 1);
  } else {
    // -fx is -f -x for switches, and -f x otherwise.
    for (size_t i = 1; i < word.size(); ++i) {
      DET_ASSIGN_OR_RETURN(option, Served(FindLetter(options, word[i])));
      if (!option->value.empty()) {
        if (i + 1 < word.size()) value = word.substr(i + 1);
        break;
      }
      if (i + 1 < word.size()) out->options[option->name].emplace_back();
    }
  }
  if (option->value.empty() && value) {
    return UsageError(absl::StrCat("--", option->name, " takes no value"));
  }
  if (!option->value.empty() && !value && *index + 1 < argv.size()) value = argv[++*index];
  // An empty one is most often a variable of the shell that is not set.
  if (!option->value.empty() && value.value_or("").empty()) {
    return UsageError(absl::StrCat("--", option->name, " needs a value: ", option->value));
  }
  out->options[option->name].push_back(value.value_or(""));
  return absl::OkStatus();
}

absl::Status AssignWords(const std::vector<Positional>& positionals,
                         const std::vector<std::string>& words, Arguments* out) {
  size_t next = 0;
  for (const Positional& positional : positionals) {
    if (next >= words.size()) {
      if (positional.optional) continue;
      return UsageError(absl::StrCat("missing ", positional.name));
    }
    do {
      out->words[positional.name].push_back(words[next++]);
    } while (positional.repeated && next < words.size());
  }
  if (next < words.size()) {
    return UsageError(absl::StrCat("unexpected word \"", words[next], "\""));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status UsageError(absl::string_view message) {
  absl::Status status = absl::InvalidArgumentError(message);
  status.SetPayload(kUsagePayload, absl::Cord("1"));
  return status;
}

bool IsUsageError(const absl::Status& status) {
  return status.GetPayload(kUsagePayload).has_value();
}

std::optional<std::string> Arguments::Get(absl::string_view option) const {
  const auto found = options.find(std::string(option));
  if (found == options.end()) return std::nullopt;
  return found->second.back();
}

std::vector<std::string> Arguments::GetAll(absl::string_view option) const {
  const auto found = options.find(std::string(option));
  return found == options.end() ? std::vector<std::string>() : found->second;
}

absl::StatusOr<int> Arguments::GetInt(absl::string_view option, int fallback, int least,
                                      int most) const {
  const std::optional<std::string> text = Get(option);
  if (!text) return fallback;
  int value = 0;
  if (!absl::SimpleAtoi(*text, &value) || value < least || value > most) {
    return UsageError(absl::StrCat("--", option, ": expected an integer from ", least, " to ", most,
                                   ", found \"", *text, "\""));
  }
  return value;
}

std::string Arguments::Word(absl::string_view positional) const {
  const auto found = words.find(std::string(positional));
  return found == words.end() ? "" : found->second.front();
}

std::vector<std::string> Arguments::Words(absl::string_view positional) const {
  const auto found = words.find(std::string(positional));
  return found == words.end() ? std::vector<std::string>() : found->second;
}

absl::StatusOr<int> Arguments::Id(absl::string_view positional) const {
  const std::string word = Word(positional);
  int id = 0;
  if (!absl::SimpleAtoi(word, &id) || id < 1) {
    return UsageError(
        absl::StrCat(positional, ": expected an id such as 42, found \"", word, "\""));
  }
  return id;
}

absl::StatusOr<std::vector<int>> Arguments::Ids(absl::string_view positional) const {
  constexpr size_t kMaxIds = 10'000;
  std::vector<int> ids;
  std::set<int> known;
  for (const std::string& word : Words(positional)) {
    for (const absl::string_view part : absl::StrSplit(word, ',', absl::SkipEmpty())) {
      const std::pair<absl::string_view, absl::string_view> ends =
          absl::StrSplit(part, absl::MaxSplits('-', 1));
      int first = 0, last = 0;
      const bool range = absl::StrContains(part, '-');
      if (!absl::SimpleAtoi(ends.first, &first) || first < 1 ||
          (range && (!absl::SimpleAtoi(ends.second, &last) || last < first))) {
        return UsageError(absl::StrCat(
            positional, ": expected ids such as 42, 7,9 or 12-15, found \"", part, "\""));
      }
      for (int64_t id = first; id <= (range ? last : first); ++id) {
        if (known.insert(static_cast<int>(id)).second) ids.push_back(static_cast<int>(id));
        if (ids.size() > kMaxIds) {
          return UsageError(absl::StrCat(positional, ": more than ", kMaxIds, " ids"));
        }
      }
    }
  }
  if (ids.empty()) return UsageError(absl::StrCat(positional, ": expected an id such as 42"));
  return ids;
}

absl::StatusOr<Arguments> ParseArguments(const std::vector<Option>& options,
                                         const std::vector<Positional>& positionals,
                                         const std::vector<std::string>& argv) {
  Arguments out;
  std::vector<std::string> words;
  bool only_words = false;
  for (size_t i = 0; i < argv.size(); ++i) {
    // A number below zero is no option either.
    const bool dashed = argv[i].size() > 1 && argv[i][0] == '-' && !absl::ascii_isdigit(argv[i][1]);
    if (only_words || !dashed) {
      words.push_back(argv[i]);
    } else if (argv[i] == "--") {
      only_words = true;
    } else {
      DET_RETURN_IF_ERROR(TakeOption(options, argv, &i, &out));
    }
  }
  // Who asks for help need not know the words yet.
  if (out.Has("help")) return out;
  DET_RETURN_IF_ERROR(AssignWords(positionals, words, &out));
  return out;
}

std::optional<std::string> FindNearest(absl::string_view word,
                                       const std::vector<std::string>& candidates) {
  std::optional<std::string> best;
  // Two letters of "foo" are not what was meant.
  const int size = static_cast<int>(word.size());
  int best_distance = std::max(size < 4 ? 1 : 2, size / 3) + 1;
  for (const std::string& candidate : candidates) {
    const auto distance =
        static_cast<int>(base::EditDistance({word.data(), word.size()}, candidate));
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace det::cli
