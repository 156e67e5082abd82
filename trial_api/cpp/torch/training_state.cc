#include "trial_api/cpp/torch/training_state.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>

#include "trial_api/cpp/core/error.h"
#include "trial_api/cpp/torch/archive_file.h"
#include "trial_api/cpp/torch/optimizer_state.h"
#include "trial_api/cpp/torch/rank_state.h"
#include "trial_api/cpp/torch/strategy.h"
#include <nlohmann/json.hpp>

namespace det::trial {
namespace {

using torch::serialize::OutputArchive;

std::string FileName(const std::string& kind, size_t index) {
  return kind + "_" + std::to_string(index) + ".pt";
}

// Returns the file name of the part of an optimizer's state that a rank writes.
std::string PartName(size_t optimizer, int rank) {
  const std::string part = rank == 0 ? "" : ".rank_" + std::to_string(rank);
  return "optimizer_" + std::to_string(optimizer) + part + ".pt";
}

template <class T>
OutputArchive MakeArchive(const T& saveable) {
  OutputArchive archive;
  saveable.save(archive);
  return archive;
}

// libtorch adopts the shape and the device in the file, so the shapes are compared with those of
// the model before.
void LoadModel(const std::string& path, torch::Device device, torch::nn::Module& model) {
  ReadArchive(path, device, [&](torch::serialize::InputArchive& archive) {
    torch::NoGradGuard no_grad;
    std::vector<std::vector<int64_t>> shapes;
    for (const torch::Tensor& tensor : model.parameters()) shapes.push_back(tensor.sizes().vec());
    model.load(archive);
    const auto parameters = model.named_parameters();
    for (size_t i = 0; i < shapes.size(); ++i) {
      if (parameters[i].value().sizes().vec() != shapes[i]) {
        throw Error("checkpoint file " + path + " does not fit this trial: parameter " +
                    parameters[i].key() + " has another shape");
      }
    }
  });
}

// Loads the parts of all ranks that wrote one; their number may differ from the current one.
void LoadOptimizer(const std::string& dir, size_t index, const TrialContext& context) {
  for (int rank = 0;; ++rank) {
    const std::string path = dir + "/" + PartName(index, rank);
    if (rank > 0 && !std::filesystem::exists(path)) return;
    ReadArchive(path, context.device(), [&](torch::serialize::InputArchive& archive) {
      // Adds the state in the archive to the existing state.
      context.optimizers()[index]->load(archive);
    });
    context.strategy().Release();
  }
}

void LoadLearned(const std::string& dir, const TrialContext& context, Trial& trial) {
  for (size_t i = 0; i < context.models().size(); ++i) {
    LoadModel(dir + "/" + FileName("model", i), context.device(), *context.models()[i]);
  }
  for (size_t i = 0; i < context.optimizers().size(); ++i) {
    LoadOptimizer(dir, i, context);
  }
  // The Trial itself moves its state to the device.
  ReadArchive(dir + "/trial.pt", torch::kCPU,
              [&](torch::serialize::InputArchive& archive) { trial.load_state(archive); });
}

OutputArchive MakeArchive(const Callbacks& callbacks) {
  OutputArchive archive;
  for (const auto& [name, callback] : callbacks) {
    OutputArchive own;
    callback->save_state(own);
    archive.write(name, own);
  }
  return archive;
}

void LoadCallbacks(const std::string& dir, const Callbacks& callbacks) {
  const std::string path = dir + "/callbacks.pt";
  if (callbacks.empty() || !std::filesystem::exists(path)) return;
  ReadArchive(path, torch::kCPU, [&](torch::serialize::InputArchive& archive) {
    for (const auto& [name, callback] : callbacks) {
      torch::serialize::InputArchive own;
      if (archive.try_read(name, own)) callback->load_state(own);
    }
  });
}

// The large files of a rank: its part of the optimizers and, on the chief, the models.
std::vector<std::pair<std::string, OutputArchive>> ArchiveLargeFiles(const TrialContext& context) {
  std::vector<std::pair<std::string, OutputArchive>> archives;
  const int rank = context.ranks().rank;
  for (size_t i = 0; i < context.optimizers().size(); ++i) {
    torch::optim::Optimizer& optimizer = *context.optimizers()[i];
    const std::vector<int> writers = context.strategy().Writers(GetParameters(optimizer));
    archives.emplace_back(PartName(i, rank), MakePartialArchive(optimizer, writers, rank));
  }
  if (!context.ranks().is_chief()) return archives;
  for (size_t i = 0; i < context.models().size(); ++i) {
    archives.emplace_back(FileName("model", i), MakeArchive(*context.models()[i]));
  }
  return archives;
}

// Training is blocked meanwhile, so this rank's share of the cores is used; a few threads saturate
// the memory bandwidth.
int CopyingThreads(const Ranks& ranks) {
  constexpr int kUseful = 4;
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  return std::clamp(cores / ranks.local_size, 1, kUseful);
}

}  // namespace

std::string ToJson(const Progress& progress) {
  nlohmann::json validation = nlohmann::json::object();
  for (const auto& [name, value] : progress.validation) validation[name] = value;
  return nlohmann::json{{"steps_completed", progress.steps_completed},
                        {"epoch", progress.epoch},
                        {"batch", progress.batch},
                        {"reported_at", progress.reported_at},
                        {"validated_at", progress.validated_at},
                        {"validation_metrics", validation}}
      .dump(2);
}

Progress ProgressFromJson(const std::string& text) {
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    Progress progress;
    progress.steps_completed = json.at("steps_completed").get<int64_t>();
    progress.epoch = json.at("epoch").get<int64_t>();
    progress.batch = json.at("batch").get<int64_t>();
    progress.reported_at = json.at("reported_at").get<int64_t>();
    progress.validated_at = json.at("validated_at").get<int64_t>();
    for (const auto& [name, value] : json.at("validation_metrics").items()) {
      // JSON has no NaN; the library writes null instead.
      progress.validation[name] = value.is_null() ? std::nan("") : value.get<double>();
    }
    return progress;
  } catch (const nlohmann::json::exception& error) {
    throw Error(std::string("state.json of the checkpoint is damaged: ") + error.what());
  }
}

StateSnapshot::StateSnapshot() = default;
StateSnapshot::~StateSnapshot() = default;

void StateSnapshot::Reserve(const TrialContext& context) {
  std::vector<OutputArchive> archives;
  for (auto& [name, archive] : ArchiveLargeFiles(context)) archives.push_back(std::move(archive));
  copies_.Reserve(archives);
}

void StateSnapshot::Take(TrialContext& context, const Trial& trial, const Progress& progress,
                         MetricsSum& unreported) {
  archives_.clear();
  copies_.Restart();
  progress_.clear();
  const Ranks& ranks = context.ranks();
  Add(RankFileName(ranks.rank), RankState(context, unreported));
  for (auto& [name, archive] : ArchiveLargeFiles(context)) Add(name, std::move(archive));
  if (ranks.is_chief()) {
    AddChiefState(context, trial);
    progress_ = ToJson(progress);
  }
  copies_.Fill(CopyingThreads(ranks));
}

void StateSnapshot::AddChiefState(TrialContext& context, const Trial& trial) {
  OutputArchive state;
  trial.save_state(state);
  Add("trial.pt", std::move(state));
  if (context.scaling()) {
    OutputArchive scale;
    context.scaling()->Save(scale);
    Add("loss_scale.pt", std::move(scale));
  }
  if (!context.callbacks().empty()) Add("callbacks.pt", MakeArchive(context.callbacks()));
}

void StateSnapshot::Add(const std::string& name, OutputArchive archive) {
  copies_.Replace(archive);
  archives_.emplace_back(name, std::move(archive));
}

void StateSnapshot::Write(const std::string& dir) {
  for (auto& [name, archive] : archives_) WriteArchive(archive, dir + "/" + name);
  if (progress_.empty()) return;
  std::ofstream file(dir + "/state.json");
  file << progress_ << "\n";
  file.close();
  if (!file) throw Error("cannot write " + dir + "/state.json: is the disk full?");
}

void LoadWeights(const std::string& dir, const TrialContext& context, Trial& trial) {
  std::vector<std::unique_ptr<torch::optim::OptimizerOptions>> own;
  for (const auto& optimizer : context.optimizers()) {
    for (const auto& group : optimizer->param_groups()) own.push_back(group.options().clone());
  }
  LoadLearned(dir, context, trial);
  auto next = own.begin();
  for (const auto& optimizer : context.optimizers()) {
    for (auto& group : optimizer->param_groups()) group.set_options(std::move(*next++));
  }
}

Progress LoadState(const std::string& dir, TrialContext& context, Trial& trial,
                   MetricsSum& unreported) {
  LoadLearned(dir, context, trial);
  LoadRankState(dir, context, unreported);
  LoadCallbacks(dir, context.callbacks());
  const std::string scale = dir + "/loss_scale.pt";
  if (context.scaling() && std::filesystem::exists(scale)) {
    ReadArchive(scale, torch::kCPU,
                [&](torch::serialize::InputArchive& archive) { context.scaling()->Load(archive); });
  }
  std::ifstream file(dir + "/state.json");
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) throw Error("cannot read " + dir + "/state.json: the checkpoint has no such file");
  return ProgressFromJson(text.str());
}

}  // namespace det::trial
