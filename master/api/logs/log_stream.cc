#include "master/api/logs/log_stream.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "re2/filtered_re2.h"
#include "re2/re2.h"

namespace det::api {
namespace {

// The maximum number of lines that are read, and in memory, at a time.
constexpr int kLogPageSize = 1000;

// Returns texts that each line matching the pattern contains, for store::LogQuery::parts: the store
// does not return lines without them. Returns none if the pattern has none or is invalid.
std::vector<std::string> FindRequiredTexts(const std::string& pattern) {
  re2::FilteredRE2 filter;
  int id = 0;
  if (filter.Add(pattern, re2::RE2::Quiet, &id) != re2::RE2::NoError) return {};
  std::vector<std::string> texts;
  filter.Compile(&texts);
  std::vector<std::string> parts;
  for (size_t i = 0; i < texts.size(); ++i) {
    std::vector<int> others;
    for (size_t j = 0; j < texts.size(); ++j) {
      if (j != i) others.push_back(static_cast<int>(j));
    }
    std::vector<int> potentials;
    filter.AllPotentials(others, &potentials);
    // The store and RE2 may convert letters that are not ASCII to lower case in different ways.
    const bool ascii = std::all_of(texts[i].begin(), texts[i].end(), absl::ascii_isascii);
    if (potentials.empty() && ascii) parts.push_back(texts[i]);
  }
  return parts;
}

// A line that the next one overwrites ends in "\r", which patterns do not see.
re2::StringPiece GetShownText(const model::LogLine& line) {
  const absl::string_view text = absl::StripSuffix(line.text, "\r");
  return {text.data(), text.size()};
}

}  // namespace

LogCursor::LogCursor(store::Store& store, LogStreamOptions options)
    : store_(store), options_(std::move(options)), remaining_(options_.limit) {
  if (!options_.pattern.empty()) {
    pattern_ = std::make_shared<re2::RE2>(options_.pattern, re2::RE2::Quiet);
    options_.query.parts = FindRequiredTexts(options_.pattern);
  }
}

absl::StatusOr<LogCursor::Page> LogCursor::Next() {
  if (pattern_ != nullptr && !pattern_->ok()) {
    return absl::InvalidArgumentError(absl::StrCat("search_text: invalid regular expression \"",
                                                   options_.pattern, "\": ", pattern_->error()));
  }
  Page page;
  // No new lines can follow if the order is descending or the query has an upper bound. Otherwise
  // the state of the trial is read before the lines, so that the lines are complete if it has
  // ended.
  bool ended = !options_.follow || options_.query.descending || options_.query.before_id > 0;
  if (!ended) {
    if (options_.trial.value() != 0) {
      DET_ASSIGN_OR_RETURN(const store::TrialRecord record, store_.GetBareTrial(options_.trial));
      ended = model::IsTerminal(record.trial.state);
    } else {
      DET_ASSIGN_OR_RETURN(const store::TaskRecord record, store_.tasks().Get(options_.query.task));
      ended = model::IsTerminal(record.task.state);
    }
  }
  store::LogQuery& query = options_.query;
  const bool bounded = options_.limit > 0;
  query.limit = bounded && pattern_ == nullptr ? std::min(remaining_, kLogPageSize) : kLogPageSize;
  DET_ASSIGN_OR_RETURN(page.lines, store_.ListLogs(query));
  const int count = static_cast<int>(page.lines.size());
  if (count > 0) {
    (query.descending ? query.before_id : query.after_id) = page.lines.back().id;
  }
  if (pattern_ != nullptr) {
    std::erase_if(page.lines, [this](const store::LogRecord& line) {
      return !re2::RE2::PartialMatch(GetShownText(line.line), *pattern_);
    });
    if (bounded && page.lines.size() > static_cast<size_t>(remaining_)) {
      page.lines.resize(remaining_);
    }
  }
  remaining_ -= static_cast<int>(page.lines.size());
  const bool limit_reached = bounded && remaining_ <= 0;
  // After any line, read again: more lines may have arrived during the read.
  page.more = count > 0;
  page.last = limit_reached || (ended && count < query.limit);
  return page;
}

}  // namespace det::api
