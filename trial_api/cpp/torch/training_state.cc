#include "trial_api/cpp/torch/training_state.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "trial_api/cpp/core/error.h"
#include <ATen/CPUGeneratorImpl.h>
#include <nlohmann/json.hpp>

namespace det::trial {
namespace {

std::string FileName(const std::string& dir, const std::string& kind, size_t index) {
  return dir + "/" + kind + "_" + std::to_string(index) + ".pt";
}

template <class T>
void SaveArchive(const std::string& path, const T& saveable) {
  torch::serialize::OutputArchive archive;
  saveable.save(archive);
  archive.save_to(path);
}

// Calls `read` with the archive of `path`; libtorch's own errors do not say which file it was.
template <class F>
void ReadArchive(const std::string& path, const F& read) {
  try {
    torch::serialize::InputArchive archive;
    archive.load_from(path, torch::kCPU);
    read(archive);
  } catch (const c10::Error& error) {
    throw Error("checkpoint file " + path +
                " does not fit this trial: " + error.what_without_backtrace());
  }
}

// libtorch takes whatever shape the file has: compare with what the model had.
void LoadModel(const std::string& path, torch::nn::Module& model) {
  ReadArchive(path, [&](torch::serialize::InputArchive& archive) {
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

void LoadLearned(const std::string& dir, const TrialContext& context, Trial& trial) {
  for (size_t i = 0; i < context.models().size(); ++i) {
    LoadModel(FileName(dir, "model", i), *context.models()[i]);
  }
  for (size_t i = 0; i < context.optimizers().size(); ++i) {
    ReadArchive(FileName(dir, "optimizer", i), [&](torch::serialize::InputArchive& archive) {
      context.optimizers()[i]->load(archive);
    });
  }
  ReadArchive(dir + "/trial.pt",
              [&](torch::serialize::InputArchive& archive) { trial.load_state(archive); });
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
      // JSON has no NaN; the library writes null for it.
      progress.validation[name] = value.is_null() ? std::nan("") : value.get<double>();
    }
    return progress;
  } catch (const nlohmann::json::exception& error) {
    throw Error(std::string("state.json of the checkpoint is damaged: ") + error.what());
  }
}

void SeedTorch(uint64_t seed, int rank) {
  torch::manual_seed(base::Rng(seed).Split(static_cast<uint64_t>(rank)).Next());
}

void SaveState(const std::string& dir, const TrialContext& context, const Trial& trial,
               const Progress& progress, MetricsSum& unreported) {
  const Ranks& ranks = context.ranks();
  torch::serialize::OutputArchive own;
  own.write("cpu_generator", at::detail::getDefaultCPUGenerator().get_state());
  own.write("unreported_metrics", c10::IValue(unreported.ToText()));
  own.save_to(FileName(dir, "rank", static_cast<size_t>(ranks.rank)));
  if (!ranks.is_chief()) return;

  for (size_t i = 0; i < context.models().size(); ++i) {
    SaveArchive(FileName(dir, "model", i), *context.models()[i]);
  }
  for (size_t i = 0; i < context.optimizers().size(); ++i) {
    SaveArchive(FileName(dir, "optimizer", i), *context.optimizers()[i]);
  }
  torch::serialize::OutputArchive state;
  trial.save_state(state);
  state.save_to(dir + "/trial.pt");
  std::ofstream file(dir + "/state.json");
  file << ToJson(progress) << "\n";
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

Progress LoadState(const std::string& dir, const TrialContext& context, Trial& trial,
                   MetricsSum& unreported) {
  LoadLearned(dir, context, trial);
  const std::string own = FileName(dir, "rank", static_cast<size_t>(context.ranks().rank));
  if (std::filesystem::exists(own)) {
    ReadArchive(own, [&](torch::serialize::InputArchive& archive) {
      torch::Tensor generator;
      archive.read("cpu_generator", generator);
      at::Generator of_process = at::detail::getDefaultCPUGenerator();
      of_process.set_state(generator);
      c10::IValue metrics;
      archive.read("unreported_metrics", metrics);
      unreported.AddText(metrics.toStringRef());
    });
  }
  std::ifstream file(dir + "/state.json");
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) throw Error("cannot read " + dir + "/state.json: the checkpoint has no such file");
  return ProgressFromJson(text.str());
}

}  // namespace det::trial
