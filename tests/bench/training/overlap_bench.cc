// Measures the benefit of averaging gradients during the backward pass: steps of a network with 80
// MB of parameters on two ranks, with the default buckets and with a single bucket, which is
// averaged after the pass. Both alternate in one run. Prints medians, their ratio and its target,
// and exits with 1 if it is missed.
//
// Each rank is a process with one thread. Gloo communicates over the loopback interface, throttled
// to --gigabytes-per-second (1): otherwise two ranks on two cores would have no core left for
// communication during the pass, and no latency to hide.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/file.h"
#include "trial_api/cpp/core/exchange.h"
#include "trial_api/cpp/core/gloo_communicator.h"
#include "trial_api/cpp/torch/gradient_reducer.h"
#include <torch/torch.h>

namespace {

using Clock = std::chrono::steady_clock;
using det::Communicator;
using det::DType;

constexpr int64_t kWidth = 2048;  // 16 MB per layer
constexpr int64_t kLayers = 5;
constexpr int64_t kRecords = 32;
constexpr int kRounds = 12;
constexpr int kSteps = 3;  // per variant and round

class SlowNetwork final : public Communicator {
 public:
  SlowNetwork(std::unique_ptr<Communicator> real, double bytes_per_second)
      : real_(std::move(real)), bytes_per_second_(bytes_per_second) {}

  const det::Ranks& ranks() const override { return real_->ranks(); }
  void AllReduceSum(void* data, size_t count, DType dtype) override {
    Last(count * det::GetElementSize(dtype), [&] { real_->AllReduceSum(data, count, dtype); });
  }
  void ReduceSum(void* data, size_t count, DType dtype, int root) override {
    Last(count * det::GetElementSize(dtype), [&] { real_->ReduceSum(data, count, dtype, root); });
  }
  void Broadcast(void* data, size_t bytes, int root) override {
    Last(bytes, [&] { real_->Broadcast(data, bytes, root); });
  }
  std::vector<std::string> AllGather(const std::string& mine) override {
    return real_->AllGather(mine);
  }
  void AllGatherBlocks(const void* mine, size_t bytes, void* all) override {
    Last(bytes, [&] { real_->AllGatherBlocks(mine, bytes, all); });
  }
  void Barrier() override { real_->Barrier(); }
  std::unique_ptr<Communicator> Duplicate(const std::string& name) override {
    return std::make_unique<SlowNetwork>(real_->Duplicate(name), bytes_per_second_);
  }
  std::unique_ptr<Communicator> Split(const std::string& name,
                                      const std::vector<int>& members) override {
    return std::make_unique<SlowNetwork>(real_->Split(name, members), bytes_per_second_);
  }

 private:
  // Two ranks send and receive each byte once, in both directions at the same time.
  template <class Operation>
  void Last(size_t bytes, const Operation& operation) const {
    const Clock::time_point began = Clock::now();
    operation();
    const std::chrono::duration<double> least(static_cast<double>(bytes) / bytes_per_second_);
    std::this_thread::sleep_until(began + std::chrono::duration_cast<Clock::duration>(least));
  }

  const std::unique_ptr<Communicator> real_;
  const double bytes_per_second_;
};

torch::nn::Sequential MakeNet() {
  torch::nn::Sequential net;
  for (int64_t i = 0; i < kLayers; ++i) {
    net->push_back(torch::nn::Linear(torch::nn::LinearOptions(kWidth, kWidth).bias(false)));
    net->push_back(torch::nn::Tanh());
  }
  return net;
}

// One variant: seconds per step, alternating with the other variant.
class Variant {
 public:
  Variant(Communicator& communicator, const det::trial::BucketLimits& limits)
      : communicator_(communicator), net_(MakeNet()) {
    det::trial::GradientReducer::NamedParameters parameters;
    for (const auto& item : net_->named_parameters()) {
      parameters.emplace_back(item.key(), item.value());
    }
    reducer_ = std::make_unique<det::trial::GradientReducer>(communicator, parameters, limits);
  }

  void Step(const torch::Tensor& batch, std::vector<double>& seconds) {
    communicator_.Barrier();
    const Clock::time_point began = Clock::now();
    const torch::Tensor loss = net_->forward(batch).pow(2).mean();
    reducer_->Prepare(/*want_stop=*/false);
    loss.backward();
    reducer_->Finish();
    seconds.push_back(std::chrono::duration<double>(Clock::now() - began).count());
  }
  size_t buckets() const { return reducer_->num_buckets(); }

 private:
  Communicator& communicator_;
  torch::nn::Sequential net_;
  std::unique_ptr<det::trial::GradientReducer> reducer_;
};

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

int RunRank(int rank, const std::string& dir, double bytes_per_second) {
  torch::set_num_threads(1);
  const auto exchange = det::core::MakeDirectoryExchange(dir, std::chrono::seconds(60));
  SlowNetwork network(det::core::ConnectGloo({rank, 2, rank, 2, 0, 1}, "127.0.0.1", *exchange),
                      bytes_per_second);
  constexpr int64_t kAll = int64_t{1} << 40;
  Variant beside(network, {});
  Variant behind(network, {.first_bytes = kAll, .other_bytes = kAll});
  const torch::Tensor batch = torch::rand({kRecords, kWidth});
  std::vector<double> warm_up, with, without, ratios;
  beside.Step(batch, warm_up);
  behind.Step(batch, warm_up);
  for (int round = 0; round < kRounds; ++round) {
    std::vector<double> with_now, without_now;
    for (int step = 0; step < kSteps; ++step) {
      beside.Step(batch, with_now);
      behind.Step(batch, without_now);
    }
    with.push_back(Median(with_now));
    without.push_back(Median(without_now));
    ratios.push_back(without.back() / with.back());
  }
  if (rank != 0) return 0;
  const double ratio = Median(ratios);
  std::printf("step: %.0f ms with %zu buckets, %.0f ms with %zu\n", 1e3 * Median(with),
              beside.buckets(), 1e3 * Median(without), behind.buckets());
  std::printf("%-44s %8.3f  %-10s %s\n", "step without overlap / with", ratio, "> 1.05",
              ratio > 1.05 ? "ok" : "MISSED");
  std::fflush(stdout);
  return ratio > 1.05 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  // Before OpenBLAS is used, which would start threads.
  ::setenv("OMP_NUM_THREADS", "1", 1);
  double gigabytes = 1;
  if (argc == 3 && std::string_view(argv[1]) == "--gigabytes-per-second") {
    gigabytes = std::atof(argv[2]);
  }
  const auto dir = det::base::TempDir::Create("overlap_bench");
  if (!dir.ok() || gigabytes <= 0) return 2;
  const pid_t other = ::fork();
  const int code = RunRank(other == 0 ? 1 : 0, dir->path(), 1e9 * gigabytes);
  if (other == 0) std::_Exit(code);
  int status = 0;
  ::waitpid(other, &status, 0);
  return code;
}
