#include "trial_api/cpp/torch/random_source.h"

#include <mutex>
#include <optional>
#include <vector>

#include "base/rng.h"
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

namespace det::trial {
namespace {

// A dispatch key before all others that nothing else in libtorch uses. Only threads that include it
// are affected, and only operations that draw random numbers.
constexpr c10::DispatchKey kLayer = c10::DispatchKey::TESTING_ONLY_GenericMode;

thread_local std::optional<at::Generator> own_source;

bool IsGenerator(const c10::Argument& argument) {
  const auto optional = argument.type()->cast<c10::OptionalType>();
  return optional != nullptr && optional->getElementType()->kind() == c10::TypeKind::GeneratorType;
}

bool DrawsRandomNumbers(const c10::FunctionSchema& schema) {
  for (const c10::Argument& argument : schema.arguments()) {
    if (IsGenerator(argument)) return true;
  }
  return false;
}

// Passes this thread's generator to an operation that draws random numbers, unless it has a
// generator argument or runs on a GPU.
void PassOwnGenerator(const c10::OperatorHandle& operation, c10::DispatchKeySet keys,
                      torch::jit::Stack* stack) {
  const std::vector<c10::Argument>& arguments = operation.schema().arguments();
  if (own_source && keys.has(c10::DispatchKey::CPU)) {
    for (size_t i = 0; i < arguments.size(); ++i) {
      c10::IValue& value = torch::jit::peek(*stack, i, arguments.size());
      if (value.isNone() && IsGenerator(arguments[i])) value = c10::IValue(*own_source);
    }
  }
  operation.redispatchBoxed(keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, kLayer),
                            stack);
}

// Registered once per process.
void AddLayer() {
  static const bool added = [] {
    // Never destroyed, because that would remove the operations from threads that are still
    // running.
    auto* const others = new torch::Library(torch::Library::IMPL, "_", kLayer, __FILE__, __LINE__);
    others->fallback(torch::CppFunction::makeFallthrough());
    auto* const drawing =
        new torch::Library(torch::Library::IMPL, "aten", kLayer, __FILE__, __LINE__);
    c10::Dispatcher& dispatcher = c10::Dispatcher::singleton();
    for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
      const auto operation = dispatcher.findSchema(name);
      if (!operation || name.getNamespace() != "aten" || !DrawsRandomNumbers(operation->schema()))
        continue;
      drawing->impl(c10::toString(name).c_str(),
                    torch::CppFunction::makeFromBoxedFunction<&PassOwnGenerator>());
    }
    return true;
  }();
  static_cast<void>(added);
}

c10::DispatchKey WithLayer() {
  AddLayer();
  return kLayer;
}

}  // namespace

OwnRandomSource::OwnRandomSource() : guard_(WithLayer()) {
  own_source = at::make_generator<at::CPUGeneratorImpl>();
}

OwnRandomSource::~OwnRandomSource() { own_source.reset(); }

at::Generator RandomSource() {
  return own_source ? *own_source : at::detail::getDefaultCPUGenerator();
}

void SeedTorch(uint64_t seed, int rank, torch::Device device) {
  const uint64_t of_rank = base::Rng(seed).Split(static_cast<uint64_t>(rank)).Next();
  if (!own_source) {
    torch::manual_seed(of_rank);
    return;
  }
  own_source->set_current_seed(of_rank);
  if (!device.is_cuda()) return;
  at::Generator of_gpu = at::globalContext().defaultGenerator(device);
  const std::lock_guard lock(of_gpu.mutex());
  of_gpu.set_current_seed(of_rank);
}

}  // namespace det::trial
