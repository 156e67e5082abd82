#include "master/live/metric_feed.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/uuid.h"
#include "master/api/common/convert.h"

namespace det::live {
namespace {

// Returns the number of the report's values.
int AddPoint(const model::MetricReport& report, api::v1::WatchExperimentResponse& to) {
  const model::Value::Object* metrics = report.metrics.AsObject();
  if (metrics == nullptr || metrics->empty()) return 0;
  api::v1::ReportedPoint& point = *to.add_points();
  point.set_trial_id(report.trial.value());
  point.set_group(report.group);
  point.set_batches(static_cast<int32_t>(report.steps_completed));
  *point.mutable_time() = api::ToProto(report.time);
  *point.mutable_values() = api::ToStruct(report.metrics);
  for (const char* name : {"epoch", "epochs"}) {
    const auto it = metrics->find(name);
    if (it == metrics->end()) continue;
    if (const auto epoch = it->second.AsNumber()) point.set_epoch(*epoch);
  }
  return static_cast<int>(metrics->size());
}

}  // namespace

MetricFeed::MetricFeed() : epoch_(base::NewUuid()) {}

MetricFeed::Position MetricFeed::MakePosition(int64_t number) const {
  return {.number = number, .text = absl::StrCat(epoch_, ".", number)};
}

MetricFeed::Position MetricFeed::Open(model::ExperimentId id, const std::string& after) {
  std::lock_guard lock(mutex_);
  const auto [it, inserted] = feeds_.try_emplace(id);
  Feed& feed = it->second;
  if (inserted) feed.kept_after = feed.last = ++last_number_;
  ++feed.subscribers;
  Seal(feed);
  absl::string_view text = after;
  int64_t number = 0;
  if (absl::ConsumePrefix(&text, epoch_) && absl::ConsumePrefix(&text, ".") &&
      absl::SimpleAtoi(text, &number) && number >= feed.kept_after && number <= feed.last) {
    return MakePosition(number);
  }
  Position position = MakePosition(feed.last);
  position.missed = true;
  return position;
}

void MetricFeed::Close(model::ExperimentId id) {
  std::lock_guard lock(mutex_);
  const auto it = feeds_.find(id);
  if (it != feeds_.end()) --it->second.subscribers;
}

void MetricFeed::Drop(model::ExperimentId id) {
  std::lock_guard lock(mutex_);
  const auto it = feeds_.find(id);
  if (it != feeds_.end() && it->second.subscribers == 0) feeds_.erase(it);
}

void MetricFeed::Add(model::ExperimentId id, absl::Span<const model::MetricReport> reports) {
  std::lock_guard lock(mutex_);
  const auto it = feeds_.find(id);
  if (it == feeds_.end()) return;
  Feed& feed = it->second;
  if (!feed.pending) feed.pending = std::make_shared<api::v1::WatchExperimentResponse>();
  for (const model::MetricReport& report : reports) {
    if (feed.pending->missed()) return;
    feed.pending_values += AddPoint(report, *feed.pending);
    if (feed.pending_values <= kMaxMessageValues) continue;
    feed.pending->clear_points();
    feed.pending->set_missed(true);
    feed.pending_values = 0;
  }
}

void MetricFeed::Seal(model::ExperimentId id) {
  std::lock_guard lock(mutex_);
  const auto it = feeds_.find(id);
  if (it != feeds_.end()) Seal(it->second);
}

void MetricFeed::Seal(Feed& feed) {
  if (!feed.pending) return;
  feed.last = ++last_number_;
  feed.pending->set_position(MakePosition(feed.last).text);
  feed.kept_values += feed.pending_values;
  feed.sealed.push_back(
      {feed.last, std::exchange(feed.pending_values, 0), std::move(feed.pending)});
  feed.pending = nullptr;
  while (feed.kept_values > kMaxKeptValues || feed.sealed.size() > kMaxKeptMessages) {
    feed.kept_after = feed.sealed.front().number;
    feed.kept_values -= feed.sealed.front().values;
    feed.sealed.pop_front();
  }
}

MetricFeed::Updates MetricFeed::ReadAfter(model::ExperimentId id, int64_t number) {
  std::lock_guard lock(mutex_);
  Updates updates;
  const auto it = feeds_.find(id);
  if (it == feeds_.end()) return updates;
  const Feed& feed = it->second;
  updates.position = MakePosition(feed.last);
  updates.position.missed = number < feed.kept_after;
  for (const Sealed& sealed : feed.sealed) {
    if (sealed.number > number) updates.messages.push_back(sealed.message);
  }
  return updates;
}

}  // namespace det::live
