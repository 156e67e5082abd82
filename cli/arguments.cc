#include "cli/arguments.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/edit_distance.h"
#include "base/status_macros.h"
#include <CLI/CLI.hpp>

namespace det::cli {
namespace {

constexpr char kUsagePayload[] = "det/usage";
constexpr int kMaxWords = 1 << 20;

// Scripts can write --project_id.
std::string ToDashes(absl::string_view name) { return absl::StrReplaceAll(name, {{"_", "-"}}); }

// Returns the full name for "--nam", which may be shortened to a prefix of one option only.
absl::StatusOr<std::string> CompleteName(const std::vector<Option>& options,
                                         const std::string& name) {
  std::vector<std::string> longer;
  for (const Option& option : options) {
    const std::string full = absl::StrCat("--", option.name);
    if (full == name) return name;
    if (absl::StartsWith(full, name)) longer.push_back(full);
  }
  if (longer.size() > 1) {
    return UsageError(absl::StrCat(name, " is ambiguous: ", absl::StrJoin(longer, " or ")));
  }
  return longer.empty() ? name : longer[0];
}

// The words with the names of options spelled as the table spells them. CLI11 can ignore
// underscores, but does not take them for dashes.
absl::StatusOr<std::vector<std::string>> SpellOptions(const std::vector<Option>& options,
                                                      const std::vector<std::string>& words) {
  std::vector<std::string> spelled = words;
  for (std::string& word : spelled) {
    if (word == "--") break;
    if (!absl::StartsWith(word, "--")) continue;
    const size_t end = std::min(word.find('='), word.size());
    DET_ASSIGN_OR_RETURN(const std::string name,
                         CompleteName(options, ToDashes(word.substr(0, end))));
    word = absl::StrCat(name, word.substr(end));
  }
  return spelled;
}

// Gives access to what CLI11 did not recognize, which it classifies as words and options.
class Parser : public CLI::App {
 public:
  explicit Parser(const std::vector<Option>& options) {
    set_help_flag();
    allow_extras();
    AddOptions(options, this);
  }
  const auto& missing() const { return missing_; }
};

absl::Status NeedsValueError(const Option& option) {
  return UsageError(absl::StrCat("--", option.name, " needs a value: ", option.value));
}

// An error of CLI11 begins with the option as it names it: "--config: 1 required ..." without a
// value, "follow was given ..." with a value for a flag.
absl::Status ToUsageError(const std::vector<Option>& options, const CLI::ParseError& error) {
  const std::string text = error.what();
  for (const Option& option : options) {
    if (absl::StartsWith(text, absl::StrCat("--", option.name, ":"))) {
      return NeedsValueError(option);
    }
    if (absl::StartsWith(ToDashes(text), absl::StrCat(option.name, " was given"))) {
      return UsageError(absl::StrCat("--", option.name, " takes no value"));
    }
  }
  return UsageError(text);
}

absl::Status UnknownOptionError(const std::vector<Option>& options, absl::string_view word) {
  if (!absl::ConsumePrefix(&word, "--")) {
    return UsageError(absl::StrCat("unknown option ", word.substr(0, 2)));
  }
  const absl::string_view name = word.substr(0, word.find('='));
  std::vector<std::string> names;
  for (const Option& option : options) {
    if (IsShown(option)) names.push_back(option.name);
  }
  const std::optional<std::string> near = FindNearest(name, names);
  return UsageError(absl::StrCat("unknown option --", name,
                                 near ? absl::StrCat("; did you mean --", *near, "?") : ""));
}

// An empty value is usually a shell variable that is not set. CLI11 would take the next word as the
// value of "--config=", so "--password=" becomes two words.
absl::StatusOr<std::vector<std::string>> SplitEmptyValues(const std::vector<Option>& options,
                                                          const std::vector<std::string>& argv) {
  std::vector<std::string> words;
  for (size_t i = 0; i < argv.size(); ++i) {
    if (argv[i] == "--") {
      words.insert(words.end(), argv.begin() + static_cast<std::ptrdiff_t>(i), argv.end());
      break;
    }
    words.push_back(argv[i]);
    for (const Option& option : options) {
      if (option.value.empty() || argv[i] != absl::StrCat("--", option.name, "=")) {
        continue;
      }
      if (!option.may_be_empty) return NeedsValueError(option);
      words.back().pop_back();
      words.emplace_back();
    }
  }
  return words;
}

// Inserts "--" where the verbatim words begin: after `before` words that are neither options nor
// their values; if it is 0, before the first such word.
std::vector<std::string> MarkVerbatim(const std::vector<Option>& options, size_t before,
                                      const std::vector<std::string>& words) {
  std::vector<std::string> marked;
  const bool alone = before == 0;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const bool is_option = word.size() > 1 && word[0] == '-';
    if ((before == 0 && (!alone || !is_option)) || word == "--") {
      if (word != "--") marked.emplace_back("--");
      marked.insert(marked.end(), words.begin() + static_cast<std::ptrdiff_t>(i), words.end());
      return marked;
    }
    marked.push_back(word);
    if (!is_option) --before;
    for (const Option& option : options) {
      const bool named = word == absl::StrCat("--", option.name) ||
                         (option.letter != 0 && word == std::string({'-', option.letter}));
      if (!named || option.value.empty() || i + 1 == words.size()) continue;
      marked.push_back(words[++i]);
      break;
    }
  }
  return marked;
}

absl::Status TakeOptions(const std::vector<Option>& options, const Parser& parser, Arguments* out) {
  for (const Option& option : options) {
    const CLI::Option& parsed = *parser.get_option(absl::StrCat("--", option.name));
    if (parsed.count() == 0) continue;
    if (!option.instead.empty()) {
      return UsageError(absl::StrCat("--", option.name, " is not supported: ", option.instead));
    }
    std::vector<std::string> values = parsed.results();
    if (option.value.empty()) std::fill(values.begin(), values.end(), "");
    const std::string& name = option.same_as.empty() ? option.name : option.same_as;
    auto& target = absl::ascii_isupper(name[0]) ? out->words[name] : out->options[name];
    target.insert(target.end(), values.begin(), values.end());
    const bool empty = std::find(values.begin(), values.end(), "") != values.end();
    if (empty && !option.value.empty() && !option.may_be_empty) return NeedsValueError(option);
  }
  return absl::OkStatus();
}

absl::Status AssignWords(const std::vector<Positional>& positionals,
                         const std::vector<std::string>& words, Arguments* out) {
  size_t next = 0;
  for (const Positional& positional : positionals) {
    if (out->words.contains(positional.name)) continue;  // given as an option
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

bool IsShown(const Option& option) {
  return option.instead.empty() && option.same_as.empty() && !option.hidden;
}

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

absl::StatusOr<int> Arguments::GetInt(absl::string_view option, int fallback, int min,
                                      int max) const {
  const std::optional<std::string> text = Get(option);
  if (!text) return fallback;
  int value = 0;
  if (!absl::SimpleAtoi(*text, &value) || value < min || value > max) {
    return UsageError(absl::StrCat("--", option, ": expected an integer from ", min, " to ", max,
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

void AddOptions(const std::vector<Option>& options, CLI::App* app) {
  for (const Option& option : options) {
    const std::string names = absl::StrCat(
        option.letter == 0 ? "" : absl::StrCat("-", std::string(1, option.letter), ","), "--",
        option.name);
    CLI::Option* const added =
        option.value.empty() ? app->add_flag(names, option.help)
                             : app->add_option(names)->expected(1, option.several ? kMaxWords : 1);
    added->description(option.help)->type_name(option.value);
    added->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    if (!IsShown(option)) added->group("");
    if (option.instead.empty() && option.value.empty()) added->disable_flag_override();
  }
}

absl::StatusOr<Arguments> ParseArguments(const std::vector<Option>& options,
                                         const std::vector<Positional>& positionals,
                                         const std::vector<std::string>& argv) {
  const bool verbatim = !positionals.empty() && positionals.back().verbatim;
  DET_ASSIGN_OR_RETURN(
      std::vector<std::string> words,
      SpellOptions(options, verbatim ? MarkVerbatim(options, positionals.size() - 1, argv) : argv));
  DET_ASSIGN_OR_RETURN(words, SplitEmptyValues(options, words));
  Parser parser(options);
  try {
    parser.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& error) {
    return ToUsageError(options, error);
  }
  Arguments out;
  DET_RETURN_IF_ERROR(TakeOptions(options, parser, &out));
  std::vector<std::string> positional_words;
  for (const auto& [kind, word] : parser.missing()) {
    if (kind == CLI::detail::Classifier::POSITIONAL_MARK) continue;
    if (kind != CLI::detail::Classifier::NONE) return UnknownOptionError(options, word);
    positional_words.push_back(word);
  }
  // A user who asks for help does not know the positionals yet.
  if (out.Has("help")) return out;
  DET_RETURN_IF_ERROR(AssignWords(positionals, positional_words, &out));
  return out;
}

std::optional<std::string> FindNearest(absl::string_view word,
                                       const std::vector<std::string>& candidates) {
  std::optional<std::string> best;
  // Short words need a closer match: "foo" is not similar to "fork".
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
