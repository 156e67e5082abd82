#include "master/service/log_stream.h"

#include "base/status_macros.h"

namespace det::service {
namespace {

constexpr int kPortion = 1000;
constexpr int kMostDescending = 100000;

}  // namespace

absl::StatusOr<LogCursor::Portion> LogCursor::Next() {
  Portion portion;
  // Looked at before the lines: what is stored by the time a trial is over is all there will be.
  bool over = !question_.follow;
  if (!over) {
    DET_ASSIGN_OR_RETURN(const store::TrialRecord record, edge_.store->GetTrial(question_.trial));
    over = model::IsTerminal(record.trial.state);
  }
  store::LogQuery query = question_.query;
  if (query.descending) {
    // Newest first: one portion; the store has no cursor downwards.
    query.limit = question_.limit > 0 ? question_.limit : kMostDescending;
    DET_ASSIGN_OR_RETURN(portion.lines, edge_.store->ListLogs(query));
    portion.last = true;
    return portion;
  }
  query.limit = question_.limit > 0 ? std::min(left_, kPortion) : kPortion;
  DET_ASSIGN_OR_RETURN(portion.lines, edge_.store->ListLogs(query));
  const int count = static_cast<int>(portion.lines.size());
  if (count > 0) question_.query.after_id = portion.lines.back().id;
  left_ -= count;
  const bool limit_reached = question_.limit > 0 && left_ <= 0;
  portion.last = limit_reached || (over && count < query.limit);
  return portion;
}

}  // namespace det::service
