#include "trial_api/cpp/torch/optimizer_state.h"

#include <algorithm>
#include <numeric>
#include <sstream>

#include "trial_api/cpp/torch/host_copies.h"
#include <c10/util/string_utils.h>

namespace det::trial {
namespace {

std::string KeyOf(const torch::Tensor& parameter) {
  return c10::guts::to_string(parameter.unsafeGetTensorImpl());
}

std::string ToBytes(const torch::optim::Optimizer& optimizer) {
  torch::serialize::OutputArchive archive;
  optimizer.save(archive);
  std::ostringstream bytes;
  archive.save_to(bytes);
  return bytes.str();
}

}  // namespace

std::vector<torch::Tensor> ParametersOf(const torch::optim::Optimizer& optimizer) {
  std::vector<torch::Tensor> parameters;
  for (const auto& group : optimizer.param_groups()) {
    parameters.insert(parameters.end(), group.params().begin(), group.params().end());
  }
  return parameters;
}

std::vector<std::pair<std::string, torch::Tensor>> StateOf(torch::optim::Optimizer& optimizer,
                                                           const torch::Tensor& parameter) {
  const auto found = optimizer.state().find(KeyOf(parameter));
  if (found == optimizer.state().end()) return {};
  torch::serialize::OutputArchive archive;
  static_cast<const torch::optim::OptimizerParamState&>(*found->second).serialize(archive);
  return TensorsOf(archive);
}

void ForgetState(torch::optim::Optimizer& optimizer, const torch::Tensor& parameter) {
  optimizer.state().erase(KeyOf(parameter));
}

std::vector<int> BalancedOwners(const std::vector<torch::Tensor>& parameters, int ranks) {
  std::vector<size_t> by_size(parameters.size());
  std::iota(by_size.begin(), by_size.end(), size_t{0});
  std::stable_sort(by_size.begin(), by_size.end(), [&](size_t a, size_t b) {
    return parameters[a].numel() > parameters[b].numel();
  });
  std::vector<int64_t> numbers(static_cast<size_t>(ranks), 0);
  std::vector<int> owners(parameters.size());
  for (const size_t parameter : by_size) {
    const auto least = std::min_element(numbers.begin(), numbers.end());
    *least += parameters[parameter].numel();
    owners[parameter] = static_cast<int>(least - numbers.begin());
  }
  return owners;
}

void GatherState(Communicator& communicator, torch::optim::Optimizer& optimizer) {
  const Ranks& ranks = communicator.ranks();
  std::string own;
  if (!ranks.is_chief()) own = ToBytes(optimizer);
  const std::vector<std::string> sizes = communicator.AllGather(std::to_string(own.size()));
  for (int rank = 1; rank < ranks.size; ++rank) {
    std::string bytes = rank == ranks.rank ? own : std::string();
    bytes.resize(std::stoull(sizes[static_cast<size_t>(rank)]));
    communicator.Broadcast(bytes.data(), bytes.size(), rank);
    if (!ranks.is_chief()) continue;
    // Adds what it holds to what is there.
    torch::serialize::InputArchive archive;
    archive.load_from(bytes.data(), bytes.size());
    optimizer.load(archive);
  }
}

}  // namespace det::trial
