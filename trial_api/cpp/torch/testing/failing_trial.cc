// A Trial that fails at the point of the hyperparameter `where`, in the way of the hyperparameter
// `how`. Started by run_trial_test.
#include <stdexcept>
#include <string>

#include "trial_api/cpp/core/error.h"
#include "trial_api/cpp/torch/trial.h"

namespace det::trial {
namespace {

class FailingTrial : public Trial {
 public:
  explicit FailingTrial(TrialContext& context)
      : context_(context), net_(context.wrap_model(torch::nn::Linear(1, 1))) {
    MaybeFail("constructor");
  }

  DataLoader build_training_data_loader() override { return Ones(); }
  DataLoader build_validation_data_loader() override { return Ones(); }
  BatchMetrics train_batch(const Batch& batch, int64_t, int64_t) override {
    MaybeFail("train_batch");
    const torch::Tensor loss = net_(batch.data()).sum();
    context_.backward(loss);
    return {{"loss", loss}};
  }
  BatchMetrics evaluate_batch(const Batch&) override { return {{"loss", 1.0}}; }

 private:
  static TensorDataset Ones() { return TensorDataset({torch::ones({4, 1})}); }

  void MaybeFail(const std::string& here) const {
    if (context_.hparam<std::string>("where") != here) return;
    const auto how = context_.hparam<std::string>("how");
    if (how == "std") throw std::runtime_error("boom");
    if (how == "det") throw Error("data.bin is missing; download it");
    if (how == "torch") TORCH_CHECK(false, "shapes differ");
    if (how == "int") throw 42;
    if (how == "invalid_hp") throw InvalidHp("lr is too large");
    if (how == "peer_gone") throw PeerGone("barrier: rank 1 is gone");
  }

  TrialContext& context_;
  torch::nn::Linear net_;
};

}  // namespace
}  // namespace det::trial

int main(int argc, char** argv) { return det::RunTrial<det::trial::FailingTrial>(argc, argv); }
