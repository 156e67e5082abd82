// One process of the training benchmarks: trains the trial of the example with the controller or in
// a plain libtorch loop. `run` starts the processes, waits for "ready" from each, and writes the
// measured interval in seconds since 1970 to the file $BENCH_WINDOW. The process prints its samples
// per second in that interval, and trains until it is killed, because a peer that is a batch behind
// still needs it.
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "examples/fashion_mnist/fashion_mnist.cc"
#include <torch/cuda.h>

namespace {

double Now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Waits until the GPU has finished the queued work.
double GetSynchronizedTime() {
  if (torch::cuda::is_available()) torch::cuda::synchronize();
  return Now();
}

// Synchronizes two independent runs: with $BENCH_PACE, a named pipe of this run and one of the
// other, each waits for the other at every batch, as ranks do, but exchanges no data.
class Pace {
 public:
  Pace() {
    std::string pipe;
    std::istringstream pipes(std::getenv("BENCH_PACE") ? std::getenv("BENCH_PACE") : "");
    while (pipes >> pipe) pipes_.push_back(::open(pipe.c_str(), O_RDWR));
  }
  void Await() {
    char byte = 0;
    if (pipes_.size() == 2 &&
        (::write(pipes_[1], &byte, 1) != 1 || ::read(pipes_[0], &byte, 1) != 1)) {
      throw det::Error("$BENCH_PACE names no two pipes: use tests/bench/training/run");
    }
  }

 private:
  std::vector<int> pipes_;
};

// Counts the batches that are entirely within the interval.
class Window {
 public:
  explicit Window(int64_t samples_per_batch) : samples_(samples_per_batch) {
    const char* const path = std::getenv("BENCH_WINDOW");
    if (path == nullptr) throw det::Error("$BENCH_WINDOW is missing: use tests/bench/training/run");
    path_ = path;
  }

  // Called at the start of every batch.
  void Tick() {
    pace_.Await();
    const double now = Now();
    if (done_) return;
    if (end_ == 0.0) {
      Await();
    } else if (now < begin_) {
      return;
    } else if (first_ == 0.0) {
      first_ = GetSynchronizedTime();
    } else if (now < end_) {
      ++batches_;
      last_ = now;
    } else {
      if (torch::cuda::is_available()) {
        ++batches_;
        last_ = GetSynchronizedTime();
      }
      std::printf("samples_per_second %.3f\n",
                  static_cast<double>(batches_ * samples_) / (last_ - first_));
      std::fflush(stdout);
      done_ = true;
    }
  }

 private:
  void Await() {
    if (!ready_) {
      std::printf("ready\n");
      std::fflush(stdout);
      ready_ = true;
    }
    std::ifstream file(path_);
    if (file) file >> begin_ >> end_;
  }

  Pace pace_;
  const int64_t samples_;
  std::string path_;
  bool ready_ = false;
  bool done_ = false;
  double begin_ = 0.0;
  double end_ = 0.0;
  double first_ = 0.0;
  double last_ = 0.0;
  int64_t batches_ = 0;
};

class TimedTrial : public FashionMnistTrial {
 public:
  explicit TimedTrial(det::TrialContext& context)
      : FashionMnistTrial(context), window_(context.per_slot_batch_size()) {}

  det::BatchMetrics train_batch(const det::Batch& batch, int64_t epoch,
                                int64_t batch_idx) override {
    window_.Tick();
    return FashionMnistTrial::train_batch(batch, epoch, batch_idx);
  }

 private:
  Window window_;
};

constexpr int64_t kTrainRecords = 60000;

// A training loop with libtorch only: the same network, batches and optimizer.
void RunBare(int64_t batch_size, int64_t width) {
  std::vector<int64_t> all(kTrainRecords);
  std::iota(all.begin(), all.end(), int64_t{0});
  const det::Batch data =
      ReadFashion("/usr/share/datasets/fashion-mnist", "train", kTrainRecords).get_batch(all);
  at::set_num_interop_threads(1);
  torch::manual_seed(1);
  const torch::Device device(torch::cuda::is_available() ? torch::kCUDA : torch::kCPU);
  Net net(width);
  net->to(device);
  torch::optim::Adam adam(net->parameters(), 0.003);
  Window window(batch_size);
  while (true) {
    const torch::Tensor order = torch::randperm(kTrainRecords, torch::kInt64);
    for (int64_t begin = 0; begin + batch_size <= kTrainRecords; begin += batch_size) {
      window.Tick();
      const torch::Tensor rows = order.slice(0, begin, begin + batch_size);
      const torch::Tensor images = data.data().index_select(0, rows).to(device);
      const torch::Tensor kinds = data.target().index_select(0, rows).to(device);
      const torch::Tensor loss = torch::cross_entropy_loss(net(images), kinds);
      adam.zero_grad();
      loss.backward();
      adam.step();
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::string_view(argv[1]) == "--bare") {
    RunBare(std::atoll(argv[2]), std::atoll(argv[3]));
  }
  return det::RunTrial<TimedTrial>(argc, argv);
}
