#include "master/api/logs/log_stream.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "re2/filtered_re2.h"
#include "re2/re2.h"

namespace det::api {
namespace {

// Lines that are read, and held in memory, at a time.
constexpr int kLogPortion = 1000;

// Texts that a line has which fits the pattern, as store::LogQuery::parts wants them: the store
// leaves the other lines out. Empty for a pattern of which none can be said, or that is none.
std::vector<std::string> PartsOfPattern(const std::string& pattern) {
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
    std::vector<int> fitting;
    filter.AllPotentials(others, &fitting);
    // Letters beyond ASCII may be small in ways of their own.
    const bool ascii = std::all_of(texts[i].begin(), texts[i].end(), absl::ascii_isascii);
    if (fitting.empty() && ascii) parts.push_back(texts[i]);
  }
  return parts;
}

}  // namespace

LogCursor::LogCursor(const Edge& edge, LogQuestion question)
    : edge_(edge), question_(std::move(question)), left_(question_.limit) {
  if (!question_.pattern.empty()) {
    pattern_ = std::make_shared<re2::RE2>(question_.pattern, re2::RE2::Quiet);
    question_.query.parts = PartsOfPattern(question_.pattern);
  }
}

absl::StatusOr<LogCursor::Portion> LogCursor::Next() {
  if (pattern_ != nullptr && !pattern_->ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "search_text \"", question_.pattern, "\" is no regular expression: ", pattern_->error()));
  }
  Portion portion;
  // Newest first has no end that could be awaited, and nothing new comes before a line. Else looked
  // at before the lines: what is stored by the time a trial is over is all there will be.
  bool over = !question_.follow || question_.query.descending || question_.query.before_id > 0;
  if (!over) {
    DET_ASSIGN_OR_RETURN(const store::TrialRecord record,
                         edge_.store->GetBareTrial(question_.trial));
    over = model::IsTerminal(record.trial.state);
  }
  store::LogQuery& query = question_.query;
  const bool bounded = question_.limit > 0;
  query.limit = bounded && pattern_ == nullptr ? std::min(left_, kLogPortion) : kLogPortion;
  DET_ASSIGN_OR_RETURN(portion.lines, edge_.store->ListLogs(query));
  const int count = static_cast<int>(portion.lines.size());
  if (count > 0) {
    (query.descending ? query.before_id : query.after_id) = portion.lines.back().id;
  }
  if (pattern_ != nullptr) {
    std::erase_if(portion.lines, [this](const store::LogRecord& line) {
      return !re2::RE2::PartialMatch(line.line.text, *pattern_);
    });
    if (bounded && portion.lines.size() > static_cast<size_t>(left_)) portion.lines.resize(left_);
  }
  left_ -= static_cast<int>(portion.lines.size());
  const bool limit_reached = bounded && left_ <= 0;
  // A follower looks once more after any line: others may have come meanwhile.
  portion.more = count > 0;
  portion.last = limit_reached || (over && count < query.limit);
  return portion;
}

}  // namespace det::api
