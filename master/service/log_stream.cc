#include "master/service/log_stream.h"

#include "base/status_macros.h"

namespace det::service {
namespace {

// Lines that are read, and held in memory, at a time.
constexpr int kPortion = 1000;

}  // namespace

absl::StatusOr<LogCursor::Portion> LogCursor::Next() {
  Portion portion;
  // Newest first has no end that could be awaited. Else looked at before the lines: what is stored
  // by the time a trial is over is all there will be.
  bool over = !question_.follow || question_.query.descending;
  if (!over) {
    DET_ASSIGN_OR_RETURN(const store::TrialRecord record, edge_.store->GetTrial(question_.trial));
    over = model::IsTerminal(record.trial.state);
  }
  store::LogQuery& query = question_.query;
  query.limit = question_.limit > 0 ? std::min(left_, kPortion) : kPortion;
  DET_ASSIGN_OR_RETURN(portion.lines, edge_.store->ListLogs(query));
  const int count = static_cast<int>(portion.lines.size());
  if (count > 0) {
    (query.descending ? query.before_id : query.after_id) = portion.lines.back().id;
  }
  left_ -= count;
  const bool limit_reached = question_.limit > 0 && left_ <= 0;
  portion.last = limit_reached || (over && count < query.limit);
  return portion;
}

}  // namespace det::service
