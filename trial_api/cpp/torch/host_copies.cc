#include "trial_api/cpp/torch/host_copies.h"

#include <torch/csrc/jit/api/module.h>

namespace det::trial {
namespace {

using torch::serialize::OutputArchive;

// An archive shows nobody the module that it is made of. Naming a private member is allowed where a
// template is instantiated explicitly: that is the only door there is.
torch::jit::Module& ModuleOf(OutputArchive& archive);
template <torch::jit::Module OutputArchive::*kMember>
struct Door {
  friend torch::jit::Module& ModuleOf(OutputArchive& archive) { return archive.*kMember; }
};
template struct Door<&OutputArchive::module_>;

}  // namespace

std::vector<std::pair<std::string, torch::Tensor>> TensorsOf(OutputArchive& archive) {
  std::vector<std::pair<std::string, torch::Tensor>> tensors;
  const auto object = ModuleOf(archive)._ivalue();
  for (size_t i = 0; i < object->slots().size(); ++i) {
    const c10::IValue value = object->getSlot(i);
    if (!value.isTensor() || !value.toTensor().defined()) continue;
    tensors.emplace_back(object->type()->getAttributeName(i), value.toTensor());
  }
  return tensors;
}

void HostCopies::Replace(OutputArchive& archive) {
  torch::NoGradGuard no_grad;
  ReplaceIn(*ModuleOf(archive)._ivalue());
}

void HostCopies::ReplaceIn(c10::ivalue::Object& object) {
  for (size_t i = 0; i < object.slots().size(); ++i) {
    const c10::IValue value = object.getSlot(i);
    if (value.isObject()) {
      ReplaceIn(*value.toObject());
    } else if (value.isTensor()) {
      object.setSlot(i, Copy(value.toTensor()));
    } else if (value.isList() || value.isGenericDict() || value.isTuple()) {
      object.setSlot(i, value.deepcopy());
    }
  }
}

torch::Tensor HostCopies::Copy(const torch::Tensor& tensor) {
  if (!tensor.defined()) return tensor;
  if (next_ == copies_.size()) copies_.emplace_back();
  torch::Tensor& copy = copies_[next_++];
  if (tensor.layout() != torch::kStrided) {
    copy = tensor.to(torch::kCPU, tensor.scalar_type(), /*non_blocking=*/false, /*copy=*/true);
    return copy;
  }
  if (!copy.defined() || copy.sizes() != tensor.sizes() ||
      copy.scalar_type() != tensor.scalar_type()) {
    copy = torch::empty(tensor.sizes(),
                        torch::TensorOptions(tensor.scalar_type()).device(torch::kCPU));
  }
  copy.copy_(tensor);
  copy.set_requires_grad(tensor.requires_grad());
  return copy;
}

}  // namespace det::trial
