// Measures the cost of saving a checkpoint of 500 MB during training: the stall, and the training
// speed until the checkpoint is complete relative to the speed without a save. Uses one slot
// without a cluster, with one thread as the launcher sets for a CPU slot. Prints the measurements
// with their targets; exits with 1 if one is missed.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "trial_api/cpp/torch/trial.h"

namespace {

namespace fs = std::filesystem;

constexpr int64_t kFloats = 125'000'000;
constexpr int64_t kPeriod =
    5'000;  // batches between saves; longer than a save takes on a slow disk
constexpr int64_t kSaves = 3;
constexpr char kStore[] = "checkpoints";

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

// Complete checkpoints; incomplete ones have a different name.
int64_t CountSaved() {
  int64_t count = 0;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(kStore, ignored)) {
    count += entry.path().filename().string().front() != '.';
  }
  return count;
}

struct Figures {
  std::vector<double> calm;  // seconds per batch without a save
  std::vector<double> with_stall;
  double saving_seconds = 0;
  int64_t saving_batches = 0;
} figures;

struct NetImpl : torch::nn::Module {
  NetImpl() {
    ballast = register_parameter("ballast", torch::rand({kFloats}), /*requires_grad=*/false);
    first = register_module("first", torch::nn::Linear(512, 512));
    last = register_module("last", torch::nn::Linear(512, 512));
  }
  torch::Tensor forward(const torch::Tensor& x) { return last(torch::relu(first(x))); }

  torch::Tensor ballast;
  torch::nn::Linear first{nullptr}, last{nullptr};
};
TORCH_MODULE(Net);

class HeavyTrial : public det::Trial {
 public:
  explicit HeavyTrial(det::TrialContext& context)
      : context_(context),
        net_(context.wrap_model(Net())),
        sgd_(context.wrap_optimizer(torch::optim::SGD(net_->last->parameters(), 0.001))) {}

  det::DataLoader build_training_data_loader() override { return Records(6'400); }
  det::DataLoader build_validation_data_loader() override { return Records(64); }

  det::BatchMetrics train_batch(const det::Batch& batch, int64_t, int64_t) override {
    Tick(context_.steps_completed());
    const torch::Tensor loss = torch::mse_loss(net_(batch.data()), batch.data());
    context_.backward(loss);
    context_.step_optimizer(sgd_);
    return {{"loss", loss}};
  }
  det::BatchMetrics evaluate_batch(const det::Batch& batch) override {
    return {{"loss", torch::mse_loss(net_(batch.data()), batch.data())}};
  }

 private:
  static det::TensorDataset Records(int64_t count) {
    return det::TensorDataset({torch::rand({count, 512})});
  }

  // Called at the start of a batch, after the save that was due after `steps` batches.
  void Tick(int64_t steps) {
    const double now = Now();
    const double took = now - last_;
    last_ = now;
    if (steps < 100) return;  // warm up
    if (steps % kPeriod == 0) {
      figures.with_stall.push_back(took);
      saving_ = true;
    } else if (!saving_) {
      figures.calm.push_back(took);
    }
    if (!saving_) return;
    figures.saving_seconds += took;
    ++figures.saving_batches;
    saving_ = CountSaved() < steps / kPeriod;
  }

  det::TrialContext& context_;
  Net net_;
  std::shared_ptr<torch::optim::SGD> sgd_;
  double last_ = 0;
  bool saving_ = false;
};

bool Print(const char* name, double value, const char* target, bool reached) {
  std::printf("%-44s %8.3f  %-10s %s\n", name, value, target, reached ? "ok" : "MISSED");
  return reached;
}

}  // namespace

int main(int, char** started_as) {
  // OpenBLAS reads this variable when it is loaded; its threads would compete with the saving
  // thread.
  if (std::getenv("OMP_NUM_THREADS") == nullptr) {
    ::setenv("OMP_NUM_THREADS", "1", 1);
    ::execv("/proc/self/exe", started_as);
    return 1;
  }
  const auto dir = det::base::TempDir::Create("checkpoint_bench");
  if (!dir.ok() || ::chdir(dir->path().c_str()) != 0) return 1;
  std::ofstream("bench.yaml") << "hyperparameters: {global_batch_size: 64}\n"
                              << "checkpoint_policy: none\n"
                              << "scheduling_unit: 1000000\n"
                              << "min_checkpoint_period: {batches: " << kPeriod << "}\n"
                              << "searcher: {name: single, metric: loss, max_length: {batches: "
                              << (kSaves + 1) * kPeriod - 1 << "}}\n"
                              << "min_validation_period: {batches: 1000000}\n";
  at::set_num_threads(1);
  const std::string config = "--config=bench.yaml";
  std::vector<std::string> words = {"checkpoint_bench", config};
  char* argv[] = {words[0].data(), words[1].data(), nullptr};
  if (det::RunTrial<HeavyTrial>(2, argv) != 0) return 1;
  const double batch = Median(figures.calm);
  const double stall = Median(figures.with_stall) - batch;
  const double speed = batch * static_cast<double>(figures.saving_batches) / figures.saving_seconds;
  std::printf("batch %.1f ms; %zu saves, first stall %.0f ms, %.1f s each\n", 1e3 * batch,
              figures.with_stall.size(), 1e3 * (figures.with_stall.front() - batch),
              figures.saving_seconds / static_cast<double>(figures.with_stall.size()));
  const bool short_stall = Print("stall of a 500 MB save, s (median)", stall, "< 0.1", stall < 0.1);
  const bool fast = Print("training while saving / without", speed, ">= 0.9", speed >= 0.9);
  return short_stall && fast ? 0 : 1;
}
