#include "trial_api/cpp/torch/host_copies.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <utility>

#include <torch/csrc/jit/api/module.h>

namespace det::trial {
namespace {

using torch::serialize::OutputArchive;

// An archive does not expose its module. Explicit template instantiation may name private members,
// the only way to access it.
torch::jit::Module& GetModule(OutputArchive& archive);
template <torch::jit::Module OutputArchive::* kMember>
struct Door {
  friend torch::jit::Module& GetModule(OutputArchive& archive) { return archive.*kMember; }
};
template struct Door<&OutputArchive::module_>;

// Replaces each tensor, at any depth, by `change(tensor)`.
template <class F>
void ChangeTensors(c10::ivalue::Object& object, const F& change) {
  for (size_t i = 0; i < object.slots().size(); ++i) {
    const c10::IValue value = object.getSlot(i);
    if (value.isObject()) {
      ChangeTensors(*value.toObject(), change);
    } else if (value.isTensor()) {
      object.setSlot(i, change(value.toTensor()));
    } else if (value.isList() || value.isGenericDict() || value.isTuple()) {
      object.setSlot(i, value.deepcopy());
    }
  }
}

// The amount that one thread copies before it takes the next piece.
constexpr size_t kPieceBytes = size_t{8} << 20;

struct Piece {
  char* to;
  const char* from;
  size_t bytes;
};

void AddPieces(const torch::Tensor& from, const torch::Tensor& to, std::vector<Piece>& pieces) {
  auto* const begin = static_cast<char*>(to.data_ptr());
  const auto* const source = static_cast<const char*>(from.data_ptr());
  for (size_t done = 0; done < to.nbytes(); done += kPieceBytes) {
    pieces.push_back({begin + done, source + done, std::min(kPieceBytes, to.nbytes() - done)});
  }
}

void CopyPieces(const std::vector<Piece>& pieces, int threads) {
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < pieces.size(); i = next++) {
      std::memcpy(pieces[i].to, pieces[i].from, pieces[i].bytes);
    }
  };
  std::vector<std::thread> others;
  const size_t useful = std::min(pieces.size(), static_cast<size_t>(threads));
  for (size_t i = 1; i < useful; ++i) others.emplace_back(work);
  work();
  for (std::thread& other : others) other.join();
}

}  // namespace

std::vector<std::pair<std::string, torch::Tensor>> GetTensors(OutputArchive& archive) {
  std::vector<std::pair<std::string, torch::Tensor>> tensors;
  const auto object = GetModule(archive)._ivalue();
  for (size_t i = 0; i < object->slots().size(); ++i) {
    const c10::IValue value = object->getSlot(i);
    if (!value.isTensor() || !value.toTensor().defined()) continue;
    tensors.emplace_back(object->type()->getAttributeName(i), value.toTensor());
  }
  return tensors;
}

void HostCopies::Reserve(std::vector<OutputArchive>& archives) {
  std::vector<Kind> kinds;
  for (OutputArchive& archive : archives) {
    ChangeTensors(*GetModule(archive)._ivalue(), [&](const torch::Tensor& tensor) {
      if (tensor.defined() && tensor.layout() == torch::kStrided) {
        kinds.push_back({tensor.scalar_type(), tensor.sizes().vec()});
      }
      return tensor;
    });
  }
  reserved_ = std::async(std::launch::async, [kinds = std::move(kinds)] {
    std::vector<torch::Tensor> memory;
    // Zeros are written so that the kernel allocates the pages now.
    for (const Kind& kind : kinds) memory.push_back(torch::empty(kind.sizes, kind.type).zero_());
    return memory;
  });
}

void HostCopies::Restart() {
  kept_ = std::exchange(used_, {});
  made_ = 0;
  if (!reserved_.valid()) return;
  for (torch::Tensor& memory : reserved_.get()) {
    kept_[{memory.scalar_type(), memory.sizes().vec()}].push_back(std::move(memory));
  }
}

void HostCopies::Replace(OutputArchive& archive) {
  torch::NoGradGuard no_grad;
  ChangeTensors(*GetModule(archive)._ivalue(), [this](const torch::Tensor& tensor) {
    if (!tensor.defined()) return tensor;
    if (tensor.layout() != torch::kStrided) {
      return tensor.to(torch::kCPU, tensor.scalar_type(), /*non_blocking=*/false, /*copy=*/true);
    }
    torch::Tensor copy = MemoryFor(tensor);
    copy.set_requires_grad(tensor.requires_grad());
    to_fill_.push_back({tensor, copy});
    return copy;
  });
}

torch::Tensor HostCopies::MemoryFor(const torch::Tensor& tensor) {
  const Kind kind = {tensor.scalar_type(), tensor.sizes().vec()};
  std::vector<torch::Tensor>& kept = kept_[kind];
  if (kept.empty()) {
    kept.push_back(torch::empty(kind.sizes, kind.type));
    ++made_;
  }
  used_[kind].push_back(kept.back());
  kept.pop_back();
  return used_[kind].back();
}

void HostCopies::Fill(int threads) {
  torch::NoGradGuard no_grad;
  std::vector<Piece> pieces;
  for (const Pair& pair : to_fill_) {
    if (pair.from.device().is_cpu() && pair.from.is_contiguous() && !pair.from.is_conj() &&
        !pair.from.is_neg()) {
      AddPieces(pair.from, pair.to, pieces);
    } else {
      torch::Tensor(pair.to).copy_(pair.from);
    }
  }
  CopyPieces(pieces, threads);
  to_fill_.clear();
}

}  // namespace det::trial
