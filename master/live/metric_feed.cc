#include "master/live/metric_feed.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/uuid.h"
#include "master/api/common/convert.h"

namespace det::live {
namespace {

// Returns how many values it has.
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

MetricFeed::Place MetricFeed::PlaceAt(int64_t number) const {
  return {.number = number, .text = absl::StrCat(epoch_, ".", number)};
}

MetricFeed::Place MetricFeed::Open(model::ExperimentId id, const std::string& after) {
  std::lock_guard lock(mutex_);
  const auto [it, fresh] = feeds_.try_emplace(id);
  Feed& feed = it->second;
  if (fresh) feed.from = feed.last = ++last_;
  ++feed.followers;
  Seal(feed);
  absl::string_view text = after;
  int64_t number = 0;
  if (absl::ConsumePrefix(&text, epoch_) && absl::ConsumePrefix(&text, ".") &&
      absl::SimpleAtoi(text, &number) && number >= feed.from && number <= feed.last) {
    return PlaceAt(number);
  }
  Place place = PlaceAt(feed.last);
  place.missed = true;
  return place;
}

void MetricFeed::Close(model::ExperimentId id) {
  std::lock_guard lock(mutex_);
  const auto it = feeds_.find(id);
  if (it != feeds_.end()) --it->second.followers;
}

void MetricFeed::Drop(model::ExperimentId id) {
  std::lock_guard lock(mutex_);
  const auto it = feeds_.find(id);
  if (it != feeds_.end() && it->second.followers == 0) feeds_.erase(it);
}

void MetricFeed::Add(model::ExperimentId id, absl::Span<const model::MetricReport> reports) {
  std::lock_guard lock(mutex_);
  const auto it = feeds_.find(id);
  if (it == feeds_.end()) return;
  Feed& feed = it->second;
  if (!feed.gathered) feed.gathered = std::make_shared<api::v1::WatchExperimentResponse>();
  for (const model::MetricReport& report : reports) {
    if (feed.gathered->missed()) return;
    feed.values += AddPoint(report, *feed.gathered);
    if (feed.values <= kMostValues) continue;
    feed.gathered->clear_points();
    feed.gathered->set_missed(true);
    feed.values = 0;
  }
}

void MetricFeed::Seal(model::ExperimentId id) {
  std::lock_guard lock(mutex_);
  const auto it = feeds_.find(id);
  if (it != feeds_.end()) Seal(it->second);
}

void MetricFeed::Seal(Feed& feed) {
  if (!feed.gathered) return;
  feed.last = ++last_;
  feed.gathered->set_position(PlaceAt(feed.last).text);
  feed.kept += feed.values;
  feed.sealed.push_back({feed.last, std::exchange(feed.values, 0), std::move(feed.gathered)});
  feed.gathered = nullptr;
  while (feed.kept > kMostKept || feed.sealed.size() > kMostMessages) {
    feed.from = feed.sealed.front().number;
    feed.kept -= feed.sealed.front().values;
    feed.sealed.pop_front();
  }
}

MetricFeed::News MetricFeed::After(model::ExperimentId id, int64_t number) {
  std::lock_guard lock(mutex_);
  News news;
  const auto it = feeds_.find(id);
  if (it == feeds_.end()) return news;
  const Feed& feed = it->second;
  news.place = PlaceAt(feed.last);
  news.place.missed = number < feed.from;
  for (const Sealed& sealed : feed.sealed) {
    if (sealed.number > number) news.messages.push_back(sealed.message);
  }
  return news;
}

}  // namespace det::live
