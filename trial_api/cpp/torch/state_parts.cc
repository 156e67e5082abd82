#include "trial_api/cpp/torch/state_parts.h"

#include <utility>

#include "trial_api/cpp/torch/collectives.h"
#include "trial_api/cpp/torch/optimizer_state.h"
#include "trial_api/cpp/torch/trial_context.h"

namespace det::trial {

StateParts::StateParts(TrialContext& context, Communicator& channel, Owners owners)
    : context_(context), channel_(channel), owners_(std::move(owners)) {}

void StateParts::Step(torch::optim::Optimizer& optimizer) const {
  std::vector<torch::Tensor> parameters = GetParameters(optimizer);
  const std::vector<int> owners = owners_(parameters);
  std::vector<torch::Tensor> gradients;
  for (size_t i = 0; i < parameters.size(); ++i) {
    gradients.push_back(parameters[i].grad());
    if (owners[i] != context_.ranks().rank) parameters[i].mutable_grad().reset();
  }
  optimizer.step();
  for (size_t i = 0; i < parameters.size(); ++i) parameters[i].mutable_grad() = gradients[i];
}

void StateParts::SendWeights(const torch::optim::Optimizer& optimizer) const {
  const std::vector<torch::Tensor> parameters = GetParameters(optimizer);
  const std::vector<int> owners = owners_(parameters);
  for (int rank = 0; rank < context_.ranks().size; ++rank) {
    std::vector<torch::Tensor> part;
    for (size_t i = 0; i < parameters.size(); ++i) {
      if (owners[i] == rank) part.push_back(parameters[i]);
    }
    Broadcast(channel_, part, rank);
  }
}

void StateParts::Release() const {
  for (const auto& optimizer : context_.optimizers()) {
    const std::vector<torch::Tensor> parameters = GetParameters(*optimizer);
    const std::vector<int> owners = owners_(parameters);
    for (size_t i = 0; i < parameters.size(); ++i) {
      if (owners[i] != context_.ranks().rank) ForgetState(*optimizer, parameters[i]);
    }
  }
}

}  // namespace det::trial
