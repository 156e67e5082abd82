#include "trial_api/cpp/torch/controller.h"

#include <cstdio>
#include <memory>
#include <span>
#include <string>

#include "trial_api/cpp/core/error.h"
#include "trial_api/cpp/torch/autocast.h"
#include "trial_api/cpp/torch/device.h"
#include "trial_api/cpp/torch/reducers.h"
#include "trial_api/cpp/torch/strategy.h"

namespace det::trial {

Controller::Controller(TrialContext& context, Trial& trial)
    : context_(context),
      trial_(trial),
      training_loader_(trial.build_training_data_loader()),
      validation_loader_(trial.build_validation_data_loader()),
      training_sampler_(MakeSampler(training_loader_, /*training=*/true)),
      validation_sampler_(MakeSampler(validation_loader_, /*training=*/false)),
      schedule_(MakeSchedule(context.core().training(), BatchSize(training_loader_),
                             training_sampler_.batches_per_epoch())),
      snapshot_(std::make_shared<StateSnapshot>()) {
  if (context.models().empty()) {
    throw Error("the trial wrapped no model: call context.wrap_model() in its constructor");
  }
  context.SetCallbacks(trial.build_callbacks());
  WarnAboutRecordsPerEpoch();
}

void Controller::WarnAboutRecordsPerEpoch() const {
  const int64_t records = context_.core().training().records_per_epoch;
  const int64_t size = schedule_.records_per_batch;
  const int64_t batches = schedule_.batches_per_epoch;
  if (records == 0 || IsEpochOf(records, size, batches) || !context_.ranks().is_chief()) return;
  std::fprintf(
      stderr,
      "WARNING: records_per_epoch is %lld and is ignored: an epoch is one pass over the "
      "training data, %lld batches of %lld records; write a length in batches to validate, "
      "save or end elsewhere\n",
      static_cast<long long>(records), static_cast<long long>(batches),
      static_cast<long long>(size));
}

int64_t Controller::BatchSize(const DataLoader& loader) const {
  const int64_t size = loader.options().global_batch_size;
  return size > 0 ? size : context_.global_batch_size();
}

Sampler Controller::MakeSampler(const DataLoader& loader, bool training) const {
  const int64_t batch_size = BatchSize(loader);
  const Ranks readers = context_.readers();
  if (training && batch_size % readers.size != 0) {
    throw Error("training batches of " + std::to_string(batch_size) +
                " records cannot be divided evenly among " + std::to_string(readers.size) +
                " slots");
  }
  return Sampler({.records = loader.dataset().size(),
                  .global_batch_size = batch_size,
                  .shuffle = loader.options().shuffle,
                  .drop_last = training,
                  .seed = context_.seed(),
                  .rank = readers.rank,
                  .size = readers.size});
}

Controller::End Controller::Run() {
  End end;
  try {
    end = Train();
  } catch (...) {
    try {
      Notify(&Callback::on_trial_shutdown);
    } catch (...) {  // The first failure is reported.
    }
    throw;
  }
  Notify(&Callback::on_trial_shutdown);
  return end;
}

Controller::End Controller::Train() {
  Restore();
  SetTrainMode(true);
  Notify(&Callback::on_training_start);
  while (true) {
    DoDueWork();
    if (schedule_.Ended(progress_.steps_completed)) {
      FinishSave();
      Notify(&Callback::on_training_end);
      return End::kFinished;
    }
    const bool stop = TrainBatch();
    // At the very end there is nothing to give up, so the training is finished instead.
    if (stop && !schedule_.Ended(progress_.steps_completed)) {
      Save();
      FinishSave();
      context_.core().preemption().Acknowledge();
      return End::kPreempted;
    }
  }
}

void Controller::Restore() {
  if (const auto opened = context_.core().checkpoints().OpenLatest()) {
    Notify(&Callback::on_checkpoint_load_start, opened->dir);
    if (context_.core().warm_start()) {
      LoadWeights(opened->dir, context_, trial_);
    } else {
      progress_ = LoadState(opened->dir, context_, trial_, unreported_);
      saved_at_ = progress_.steps_completed;
    }
    // If the batch size has changed since then, continue with the next epoch.
    if (progress_.batch >= training_sampler_.batches_per_epoch()) {
      ++progress_.epoch;
      progress_.batch = 0;
    }
  }
  context_.SetSteps(progress_.steps_completed, schedule_.max_batches);
}

void Controller::DoDueWork() {
  const int64_t steps = progress_.steps_completed;
  if (schedule_.ReportDue(steps) && progress_.reported_at != steps) ReportTraining();
  // The checkpoint must be complete before the searcher gets the validation, because it may fork or
  // pause the trial at it.
  if (schedule_.IsRung(steps) && !schedule_.Ended(steps)) {
    Save();
    FinishSave();
  }
  bool save = schedule_.CheckpointDue(steps);
  if (schedule_.ValidationDue(steps) && progress_.validated_at != steps) {
    save = BestByPolicy(Validate()) || save;
  }
  if (save) Save();
}

bool Controller::TrainBatch() {
  if (progress_.batch == 0) Notify(&Callback::on_training_epoch_start, progress_.epoch);
  const Batch batch = Read(training_loader_, training_sampler_, progress_.epoch, progress_.batch);
  {
    const Autocast autocast(context_.autocast_type(), context_.device());
    unreported_.Add(trial_.train_batch(batch, progress_.epoch, progress_.batch),
                    static_cast<double>(batch.size()));
  }
  ++progress_.steps_completed;
  if (++progress_.batch == training_sampler_.batches_per_epoch()) {
    Notify(&Callback::on_training_epoch_end, progress_.epoch++);
    progress_.batch = 0;
  }
  context_.SetSteps(progress_.steps_completed, schedule_.max_batches);
  if (!reserved_ && !context_.IsAggregating()) {
    snapshot_->Reserve(context_);
    reserved_ = true;
  }
  return context_.AgreeToStop();
}

void Controller::ReportTraining() {
  const int64_t steps = progress_.steps_completed;
  Metrics& metrics = context_.core().metrics();
  Communicator& communicator = context_.reader_communicator();
  MetricMap means = unreported_.Mean(communicator);
  context_.reducers().ReduceTraining(communicator, means);
  metrics.ReportTraining(steps, means);
  metrics.ReportProgress(static_cast<double>(steps) / static_cast<double>(schedule_.max_batches));
  unreported_.Clear();
  progress_.reported_at = steps;
  Notify(&Callback::on_training_report, steps, means);
}

bool Controller::Validate() {
  context_.Synchronize();
  SetTrainMode(false);
  Notify(&Callback::on_validation_start);
  context_.reducers().StartValidation();
  MetricsSum sums;
  {
    torch::NoGradGuard no_grad;
    const Autocast autocast(context_.autocast_type(), context_.device());
    for (int64_t i = 0; i < validation_sampler_.batches_per_epoch(); ++i) {
      const Batch batch = Read(validation_loader_, validation_sampler_, 0, i);
      if (batch.size() == 0) continue;
      double weight = static_cast<double>(batch.size());
      // This rank's part of a batch counts with its share of the records, so that the result does
      // not depend on the number of slots.
      if (trial_.validation_average() == ValidationAverage::kOverBatches) {
        weight /= static_cast<double>(validation_sampler_.GetBatchSize(i));
      }
      sums.Add(trial_.evaluate_batch(batch), weight);
    }
  }
  SetTrainMode(true);
  Communicator& communicator = context_.reader_communicator();
  progress_.validation = sums.Mean(communicator);
  context_.reducers().ReduceValidation(communicator, progress_.validation);
  progress_.validated_at = progress_.steps_completed;
  MetricMap reported = progress_.validation;
  AddLengths(reported);
  const bool best = context_.core().metrics().ReportValidation(progress_.steps_completed, reported);
  Notify(&Callback::on_validation_end, progress_.steps_completed, reported);
  RequireSearcherMetric(reported);
  return best;
}

void Controller::RequireSearcherMetric(const MetricMap& reported) const {
  const std::string& name = context_.core().training().searcher_metric;
  if (name.empty() || reported.contains(name)) return;
  std::string known;
  for (const auto& [other, value] : progress_.validation) {
    known += (known.empty() ? "'" : ", '") + other + "'";
  }
  throw Error("the validation has no metric '" + name +
              "', which searcher.metric of the experiment config names; it has: " +
              (known.empty() ? "none" : known) + "; report '" + name +
              "', or set searcher.metric to one of these");
}

void Controller::AddLengths(MetricMap& metrics) const {
  const auto batches = static_cast<double>(progress_.steps_completed);
  // A metric of the Trial with the same name takes precedence.
  metrics.emplace("batches", batches);
  metrics.emplace("epochs", batches / static_cast<double>(schedule_.batches_per_epoch));
  metrics.emplace("records", batches * static_cast<double>(schedule_.records_per_batch));
}

bool Controller::BestByPolicy(bool best_on_chief) {
  switch (context_.core().training().checkpoint_policy) {
    case TrainingConfig::CheckpointPolicy::kAll:
      return true;
    case TrainingConfig::CheckpointPolicy::kNone:
      return false;
    case TrainingConfig::CheckpointPolicy::kBest: {
      // Only the chief has the master's response.
      char best = best_on_chief ? 1 : 0;
      context_.core().communicator().Broadcast(&best, 1, 0);
      return best != 0;
    }
  }
  return false;
}

void Controller::Save() {
  if (saved_at_ == progress_.steps_completed) return;
  context_.Synchronize();
  Notify(&Callback::on_checkpoint_start, progress_.steps_completed);
  FinishSave();  // The running save writes the snapshot that is about to be replaced.
  snapshot_->Take(context_, trial_, progress_, unreported_);
  context_.core().checkpoints().StartSave(progress_.steps_completed, ToJson(progress_),
                                          MakeWriter());
  saved_at_ = progress_.steps_completed;
  context_.core().tensorboard().Upload();
}

void Controller::FinishSave() {
  const std::string uuid = context_.core().checkpoints().FinishSave();
  if (!uuid.empty()) Notify(&Callback::on_checkpoint_upload_end, saved_at_, uuid);
}

Checkpoints::Writer Controller::MakeWriter() const {
  // Runs concurrently with training, which may fail meanwhile, so it owns its data.
  return [snapshot = snapshot_, callbacks = context_.callbacks(),
          steps = progress_.steps_completed](const std::string& dir) {
    snapshot->Write(dir);
    for (const auto& [name, callback] : callbacks) callback->on_checkpoint_write_end(steps, dir);
  };
}

Batch Controller::Read(const DataLoader& loader, Sampler& sampler, int64_t epoch, int64_t batch) {
  const std::span<const int64_t> indices = sampler.Slice(epoch, batch);
  if (indices.empty()) return {};
  Batch records = loader.dataset().get_batch(indices);
  for (torch::Tensor& tensor : records.tensors) tensor = CopyToDevice(tensor, context_.device());
  return records;
}

void Controller::SetTrainMode(bool on) {
  for (const auto& model : context_.models()) model->train(on);
}

}  // namespace det::trial
