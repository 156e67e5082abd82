// The Trial of a chaos run: a linear regression that trains slowly, gives bitwise identical results
// on every run, and prints a line for each batch.
//
// The chief appends "TRIAL RUN BATCH" to $CHAOS_LEDGER, then prints the same line. Each line of the
// ledger must be in the log exactly once.
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>

#include "det/trial.h"

det::TensorDataset Points(uint64_t seed, int64_t records) {
  torch::Generator generator = at::detail::createCPUGenerator(seed);
  torch::Tensor x = torch::randn({records, 8}, generator);
  torch::Tensor y = x.sum(1, true) + 0.1 * torch::randn({records, 1}, generator);
  return det::TensorDataset({x, y});
}

class ChaosTrial : public det::Trial {
 public:
  explicit ChaosTrial(det::TrialContext& context)
      : context_(context),
        pause_(context.data().GetOr<int64_t>("pause_ms", 10)),
        net_(context.wrap_model(torch::nn::Linear(8, 1))),
        sgd_(context.wrap_optimizer(
            torch::optim::SGD(net_->parameters(), context.hparam<double>("learning_rate")))) {}

  det::DataLoader build_training_data_loader() override {
    return {Points(1, 4096), {.shuffle = true}};
  }
  det::DataLoader build_validation_data_loader() override {
    return {Points(2, 64), {.global_batch_size = 32}};
  }

  det::BatchMetrics train_batch(const det::Batch& batch, int64_t, int64_t) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(pause_));
    const torch::Tensor loss = torch::mse_loss(net_(batch.data()), batch.target());
    context_.backward(loss);
    context_.step_optimizer(sgd_);
    if (context_.ranks().is_chief()) Record(context_.steps_completed() + 1);
    return {{"loss", loss}};
  }

  det::BatchMetrics evaluate_batch(const det::Batch& batch) override {
    return {{"loss", torch::mse_loss(net_(batch.data()), batch.target())}};
  }

 private:
  static void Record(int64_t step) {
    const std::string line = std::string(std::getenv("DET_TRIAL_ID")) + " " +
                             std::getenv("DET_TRIAL_RUN_ID") + " " + std::to_string(step) + "\n";
    const int ledger = ::open(std::getenv("CHAOS_LEDGER"), O_WRONLY | O_APPEND | O_CREAT, 0666);
    if (ledger < 0 || ::write(ledger, line.data(), line.size()) < 0) {
      throw det::Error("cannot write to the ledger");
    }
    ::close(ledger);
    std::cout << "batch " << line << std::flush;
  }

  det::TrialContext& context_;
  const int64_t pause_;
  torch::nn::Linear net_{nullptr};
  std::shared_ptr<torch::optim::SGD> sgd_;
};
