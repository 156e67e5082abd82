#include "trial_api/cpp/torch/optimizer_state.h"

#include <algorithm>
#include <numeric>
#include <sstream>
#include <type_traits>
#include <utility>

#include "trial_api/cpp/torch/host_copies.h"
#include "trial_api/cpp/torch/trial_context.h"

namespace det::trial {
namespace {

using States = std::remove_reference_t<decltype(std::declval<torch::optim::Optimizer>().state())>;

// libtorch stores the state of a parameter under its address, which 1.13 writes as text.
template <class Key = States::key_type>
Key MakeKey(const torch::Tensor& parameter) {
  if constexpr (std::is_pointer_v<Key>) {
    return parameter.unsafeGetTensorImpl();
  } else {
    std::ostringstream text;
    text << static_cast<const void*>(parameter.unsafeGetTensorImpl());
    return text.str();
  }
}

// The state of an optimizer has about twice as many values as the weights (Adam, for example).
constexpr int64_t kStatesOfWeight = 2;

}  // namespace

std::vector<torch::Tensor> GetParameters(const torch::optim::Optimizer& optimizer) {
  std::vector<torch::Tensor> parameters;
  for (const auto& group : optimizer.param_groups()) {
    parameters.insert(parameters.end(), group.params().begin(), group.params().end());
  }
  return parameters;
}

std::vector<std::pair<std::string, torch::Tensor>> GetState(torch::optim::Optimizer& optimizer,
                                                            const torch::Tensor& parameter) {
  const auto found = optimizer.state().find(MakeKey(parameter));
  if (found == optimizer.state().end()) return {};
  torch::serialize::OutputArchive archive;
  static_cast<const torch::optim::OptimizerParamState&>(*found->second).serialize(archive);
  return GetTensors(archive);
}

void ForgetState(torch::optim::Optimizer& optimizer, const torch::Tensor& parameter) {
  optimizer.state().erase(MakeKey(parameter));
}

std::vector<int> BalancedOwners(const std::vector<torch::Tensor>& parameters, int ranks,
                                int64_t others_of_chief) {
  std::vector<size_t> by_size(parameters.size());
  std::iota(by_size.begin(), by_size.end(), size_t{0});
  std::stable_sort(by_size.begin(), by_size.end(), [&](size_t a, size_t b) {
    return parameters[a].numel() > parameters[b].numel();
  });
  std::vector<int64_t> numbers(static_cast<size_t>(ranks), 0);
  numbers.at(0) = others_of_chief;
  std::vector<int> owners(parameters.size());
  for (const size_t parameter : by_size) {
    const auto least = std::min_element(numbers.begin(), numbers.end());
    *least += parameters[parameter].numel();
    owners[parameter] = static_cast<int>(least - numbers.begin());
  }
  return owners;
}

std::vector<int> EvenWriters(const TrialContext& context,
                             const std::vector<torch::Tensor>& parameters) {
  int64_t weights = 0;
  for (const auto& model : context.models()) {
    for (const torch::Tensor& parameter : model->parameters()) weights += parameter.numel();
  }
  return BalancedOwners(parameters, context.ranks().size, weights / kStatesOfWeight);
}

torch::serialize::OutputArchive MakePartialArchive(torch::optim::Optimizer& optimizer,
                                                   const std::vector<int>& writers, int rank) {
  const std::vector<torch::Tensor> parameters = GetParameters(optimizer);
  States& state = optimizer.state();
  States of_others;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const auto found = state.find(MakeKey(parameters[i]));
    if (writers[i] == rank || found == state.end()) continue;
    of_others[found->first] = std::move(found->second);
    state.erase(found);
  }
  torch::serialize::OutputArchive archive;
  optimizer.save(archive);
  for (auto& [key, kept] : of_others) state[key] = std::move(kept);
  return archive;
}

}  // namespace det::trial
