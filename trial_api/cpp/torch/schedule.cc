#include "trial_api/cpp/torch/schedule.h"

#include <algorithm>

namespace det::trial {
namespace {

int64_t InBatches(const Length& length, int64_t global_batch_size, int64_t batches_per_epoch) {
  if (length.count <= 0) return 0;
  switch (length.unit) {
    case Length::Unit::kBatches:
      return length.count;
    case Length::Unit::kRecords:
      return std::max<int64_t>(1, length.count / global_batch_size);
    case Length::Unit::kEpochs:
      return length.count * batches_per_epoch;
  }
  return 0;
}

}  // namespace

bool IsEpochOf(int64_t records, int64_t global_batch_size, int64_t batches_per_epoch) {
  return records > (batches_per_epoch - 1) * global_batch_size &&
         records < (batches_per_epoch + 1) * global_batch_size;
}

Schedule MakeSchedule(const TrainingConfig& config, int64_t global_batch_size,
                      int64_t batches_per_epoch) {
  if (!config.max_length || config.max_length->count <= 0) {
    throw Error(
        "searcher.max_length is missing; set the length of the training, for example max_length: "
        "{epochs: 3}");
  }
  const auto in_batches = [&](const Length& length) {
    return InBatches(length, global_batch_size, batches_per_epoch);
  };
  Schedule schedule;
  schedule.max_batches = in_batches(*config.max_length);
  schedule.report_every = std::max<int64_t>(1, config.reporting_period);
  schedule.validate_every = in_batches(config.validation_period);
  schedule.checkpoint_every = in_batches(config.checkpoint_period);
  schedule.initial_validation = config.initial_validation;
  schedule.batches_per_epoch = batches_per_epoch;
  schedule.records_per_batch = global_batch_size;
  for (int64_t rung : config.validate_at) {
    const Length::Unit unit = config.max_length->unit;
    if (unit == Length::Unit::kRecords) rung += global_batch_size - 1;
    schedule.rungs.push_back(in_batches({unit, rung}));
  }
  std::sort(schedule.rungs.begin(), schedule.rungs.end());
  return schedule;
}

}  // namespace det::trial
