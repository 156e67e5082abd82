#include "trial_api/cpp/torch/rank_state.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "trial_api/cpp/core/error.h"
#include "trial_api/cpp/torch/archive_file.h"
#include "trial_api/cpp/torch/random_source.h"
#include "trial_api/cpp/torch/reducers.h"
#include "trial_api/cpp/torch/strategy.h"
#include "trial_api/cpp/torch/trial_context.h"
#include <ATen/Context.h>

namespace det::trial {
namespace {

using torch::serialize::InputArchive;
using torch::serialize::OutputArchive;

// One tensor for each parameter of all models in order; undefined: nothing.
using Parts = std::vector<torch::Tensor>;

// Names in the archive; the number of the parameter is appended.
constexpr char kGradient[] = "gradient_";
constexpr char kLeftOut[] = "left_out_";

// Generators of the host and, on a GPU slot, of the GPU.
std::vector<std::pair<std::string, at::Generator>> Generators(const TrialContext& context) {
  std::vector<std::pair<std::string, at::Generator>> generators = {
      {"cpu_generator", RandomSource()}};
  if (context.device().is_cuda()) {
    generators.emplace_back("gpu_generator",
                            at::globalContext().defaultGenerator(context.device()));
  }
  return generators;
}

void WriteGenerators(OutputArchive& archive, const TrialContext& context) {
  for (auto& [name, generator] : Generators(context)) {
    const std::lock_guard lock(generator.mutex());
    archive.write(name, generator.get_state());
  }
}

void ReadGenerators(InputArchive& archive, const TrialContext& context) {
  for (auto& [name, generator] : Generators(context)) {
    torch::Tensor state;
    if (!archive.try_read(name, state)) continue;  // The slot has another device type now.
    const std::lock_guard lock(generator.mutex());
    generator.set_state(state);
  }
}

// Stores bytes as a tensor, because strings in an archive must be valid text.
torch::Tensor ToByteTensor(const std::string& text) {
  const torch::Tensor bytes = torch::empty({static_cast<int64_t>(text.size())}, torch::kUInt8);
  std::copy(text.begin(), text.end(), bytes.data_ptr<uint8_t>());
  return bytes;
}

// Returns the index of each parameter among those of all models; a shared parameter has its first
// index.
template <class F>
void ForEachParameter(const TrialContext& context, const F& visit) {
  size_t index = 0;
  std::set<const c10::TensorImpl*> seen;
  for (const auto& model : context.models()) {
    for (torch::Tensor parameter : model->parameters()) {
      if (seen.insert(parameter.unsafeGetTensorImpl()).second) visit(index, parameter);
      ++index;
    }
  }
}

void WritePart(OutputArchive& archive, const std::string& name, const torch::Tensor& part) {
  if (part.defined()) archive.write(name, part, /*is_buffer=*/true);
}

// Adds up the tensors of old ranks. `factor` scales each, because the mean is over another number
// of ranks now.
class MergedTensors {
 public:
  MergedTensors(const char* prefix, double factor) : prefix_(prefix), factor_(factor) {}

  void Add(InputArchive& archive, const TrialContext& context, const std::string& path) {
    ForEachParameter(context, [&](size_t index, const torch::Tensor& parameter) {
      torch::Tensor part;
      const std::string name = prefix_ + std::to_string(index);
      if (!archive.try_read(name, part, /*is_buffer=*/true)) return;
      if (part.sizes() != parameter.sizes()) {
        throw Error("checkpoint file " + path + " does not fit this trial: " + name +
                    " has another shape than its parameter");
      }
      if (!context.strategy().StepsWith(parameter)) return;
      if (factor_ != 1.0) part.mul_(factor_);
      if (parts_.size() <= index) parts_.resize(index + 1);
      torch::Tensor& sum = parts_[index];
      sum = sum.defined() ? sum.add_(part) : part;
    });
  }
  const Parts& parts() const { return parts_; }

 private:
  const std::string prefix_;
  const double factor_;
  Parts parts_;
};

void AddToGradients(const TrialContext& context, const Parts& parts) {
  ForEachParameter(context, [&](size_t index, torch::Tensor& parameter) {
    if (index >= parts.size() || !parts[index].defined()) return;
    const torch::Tensor part = parts[index].to(parameter.device());
    torch::Tensor& gradient = parameter.mutable_grad();
    gradient = gradient.defined() ? gradient + part : part;
  });
}

void AddReports(InputArchive& archive, const TrialContext& context, MetricsSum& unreported) {
  c10::IValue metrics;
  archive.read("unreported_metrics", metrics);
  unreported.AddText(metrics.toStringRef());
  torch::Tensor reducers;
  if (!context.reducers().empty() && archive.try_read("reducers", reducers)) {
    const auto* bytes = reinterpret_cast<const char*>(reducers.data_ptr<uint8_t>());
    context.reducers().AddTrainingText({bytes, static_cast<size_t>(reducers.numel())});
  }
}

int RanksIn(const std::string& dir) {
  int ranks = 0;
  while (std::filesystem::exists(dir + "/" + RankFileName(ranks))) ++ranks;
  return ranks;
}

// The number of ranks among which the records of a batch were divided.
int ReadersIn(const std::string& dir, int ranks) {
  int readers = ranks;
  ReadArchive(dir + "/" + RankFileName(0), torch::kCPU, [&](InputArchive& archive) {
    c10::IValue stored;
    if (archive.try_read("readers", stored)) readers = static_cast<int>(stored.toInt());
  });
  return readers;
}

}  // namespace

std::string RankFileName(int rank) { return "rank_" + std::to_string(rank) + ".pt"; }

OutputArchive RankState(TrialContext& context, MetricsSum& unreported) {
  OutputArchive archive;
  archive.write("readers", c10::IValue(int64_t{context.readers().size}));
  WriteGenerators(archive, context);
  archive.write("unreported_metrics", c10::IValue(unreported.ToText()));
  if (!context.reducers().empty()) {
    archive.write("reducers", ToByteTensor(context.reducers().TrainingText()));
  }
  const Parts left_out = context.strategy().GetResiduals();
  ForEachParameter(context, [&](size_t index, const torch::Tensor& parameter) {
    const std::string number = std::to_string(index);
    // With a pipeline, ranks may also have gradients for weights of other stages, as of the last
    // synchronization.
    const bool own = context.strategy().StepsWith(parameter);
    if (context.IsAggregating() && own) WritePart(archive, kGradient + number, parameter.grad());
    if (index < left_out.size()) WritePart(archive, kLeftOut + number, left_out[index]);
  });
  return archive;
}

void LoadRankState(const std::string& dir, TrialContext& context, MetricsSum& unreported) {
  torch::NoGradGuard no_grad;
  const int ranks = RanksIn(dir);
  if (ranks == 0) return;
  const int readers = ReadersIn(dir, ranks);
  // If all ranks have the same records (Strategy::SameRecords), each takes over everything.
  const Ranks mine = context.readers();
  const double factor = static_cast<double>(mine.size) / readers;
  MergedTensors gradients(kGradient, factor);
  MergedTensors left_out(kLeftOut, factor);
  for (int rank = mine.rank; rank < ranks; rank += mine.size) {
    const std::string path = dir + "/" + RankFileName(rank);
    ReadArchive(path, torch::kCPU, [&](InputArchive& archive) {
      if (rank == context.ranks().rank) ReadGenerators(archive, context);
      if (rank < readers) AddReports(archive, context, unreported);
      gradients.Add(archive, context, path);
      left_out.Add(archive, context, path);
    });
  }
  AddToGradients(context, gradients.parts());
  // If gradients are not compressed any more, the rounding errors are not needed.
  if (!context.strategy().SetResiduals(left_out.parts())) AddToGradients(context, left_out.parts());
}

}  // namespace det::trial
