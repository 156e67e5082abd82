// One process of the training benchmarks: the example's trial, timed under the controller or in a
// bare libtorch loop. Started by `run` beside this, which tells by the environment when to count:
// $BENCH_BEGIN and $BENCH_END, in seconds since 1970. Prints samples per second of this process in
// that window, then waits to be killed, so that a peer is never left alone while it counts.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "examples/fashion_mnist/fashion_mnist.cc"

namespace {

double Now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

double SecondsFromEnvironment(const char* name) {
  const char* const text = std::getenv(name);
  if (text == nullptr) throw det::Error(std::string("$") + name + " is missing: use `run`");
  return std::atof(text);
}

// Counts the batches that lie whole inside of the window.
class Window {
 public:
  explicit Window(int64_t samples_per_batch)
      : samples_(samples_per_batch),
        begin_(SecondsFromEnvironment("BENCH_BEGIN")),
        end_(SecondsFromEnvironment("BENCH_END")) {}

  // At the start of every batch.
  void Tick() {
    const double now = Now();
    if (now < begin_) {
      early_ = true;
      return;
    }
    if (first_ == 0.0) {
      if (!early_) throw det::Error("the window began before the first batch: start it later");
      first_ = now;
    } else if (now < end_) {
      ++batches_;
      last_ = now;
    } else {
      std::printf("samples_per_second %.3f\n",
                  static_cast<double>(batches_ * samples_) / (last_ - first_));
      std::fflush(stdout);
      while (true) pause();
    }
  }

 private:
  const int64_t samples_;
  const double begin_;
  const double end_;
  bool early_ = false;
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

// What somebody would write who knows only libtorch: the same net, batches and optimizer.
void RunBare(int64_t batch_size, int64_t width) {
  std::vector<int64_t> all(kTrainRecords);
  std::iota(all.begin(), all.end(), int64_t{0});
  const det::Batch data =
      ReadFashion("/usr/share/datasets/fashion-mnist", "train", kTrainRecords).get_batch(all);
  at::set_num_interop_threads(1);
  torch::manual_seed(1);
  Net net(width);
  torch::optim::Adam adam(net->parameters(), 0.002);
  Window window(batch_size);
  while (true) {
    const torch::Tensor order = torch::randperm(kTrainRecords, torch::kInt64);
    for (int64_t begin = 0; begin + batch_size <= kTrainRecords; begin += batch_size) {
      window.Tick();
      const torch::Tensor rows = order.slice(0, begin, begin + batch_size);
      const torch::Tensor loss = torch::cross_entropy_loss(net(data.data().index_select(0, rows)),
                                                           data.target().index_select(0, rows));
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
