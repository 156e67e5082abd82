// A Trial that fits a curve. Started by in_process_test.
#include <memory>

#include "trial_api/cpp/core/error.h"
#include "trial_api/cpp/torch/trial.h"

namespace det::trial {
namespace {

class CurveTrial : public Trial {
 public:
  explicit CurveTrial(TrialContext& context)
      : context_(context),
        net_(context.wrap_model(torch::nn::Sequential(torch::nn::Linear(3, 8), torch::nn::Tanh(),
                                                      torch::nn::Linear(8, 1)))),
        dropout_(context.hparam<double>("dropout")),
        adam_(context.wrap_optimizer(torch::optim::Adam(net_->parameters(), 0.01))) {}

  DataLoader build_training_data_loader() override { return {Curve(120), {.shuffle = true}}; }
  DataLoader build_validation_data_loader() override { return Curve(24); }

  BatchMetrics train_batch(const Batch& batch, int64_t, int64_t) override {
    if (context_.steps_completed() == 3 && context_.hparam<int64_t>("fails") == rank()) {
      throw Error("out of data");
    }
    torch::Tensor data = torch::dropout(batch.data(), dropout_, /*train=*/true);
    if (dropout_ > 0) data = data + 0.1 * torch::randn_like(data) * torch::rand({1});
    const torch::Tensor loss = torch::mse_loss(net_->forward(data), batch.target());
    context_.backward(loss);
    context_.step_optimizer(adam_, {.norm = context_.hparam<double>("clip")});
    return {{"loss", loss}};
  }
  BatchMetrics evaluate_batch(const Batch& batch) override {
    return {{"error", torch::mse_loss(net_->forward(batch.data()), batch.target())}};
  }

 private:
  int rank() const { return context_.ranks().rank; }

  static TensorDataset Curve(int64_t records) {
    const torch::Tensor x = torch::arange(records * 3, torch::kFloat32).view({records, 3}).sin();
    return TensorDataset({x, x.pow(2).sum(1, /*keepdim=*/true).tanh()});
  }

  TrialContext& context_;
  torch::nn::Sequential net_;
  const double dropout_;
  std::shared_ptr<torch::optim::Adam> adam_;
};

}  // namespace
}  // namespace det::trial

int main(int argc, char** argv) { return det::RunTrial<det::trial::CurveTrial>(argc, argv); }
