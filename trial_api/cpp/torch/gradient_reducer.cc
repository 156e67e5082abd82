#include "trial_api/cpp/torch/gradient_reducer.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>

#include "trial_api/cpp/core/error.h"
#include "trial_api/cpp/torch/gradient_codec.h"
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/utils/lambda_post_hook.h>
#include <torch/csrc/autograd/variable.h>

namespace det::trial {
namespace {

constexpr int kAll = -1;  // all ranks need the average

void RequireAveraged(const std::string& name, const torch::Tensor& parameter, bool on_device) {
  if (parameter.is_cuda() != on_device || !(parameter.is_cuda() || parameter.device().is_cpu())) {
    throw Error("parameter " + name + " is on device " + parameter.device().str() +
                ": gradients are averaged in the memory of the " +
                (on_device ? "slot's GPU" : "host") + "; use wrap_model()");
  }
  if (parameter.scalar_type() == torch::kFloat32) return;
  if (parameter.scalar_type() == torch::kFloat64) return;
  throw Error("parameter " + name + " is of type " + torch::toString(parameter.scalar_type()) +
              ": only float and double gradients can be averaged");
}

// Returns the part of `flat` at `offset` as a tensor that autograd does not consider a view,
// because zero_grad() rejects views.
torch::Tensor Alias(const torch::Tensor& flat, int64_t offset, const torch::Tensor& like) {
  torch::NoGradGuard no_grad;
  torch::Tensor alias = torch::empty({0}, flat.options());
  alias.set_(flat.storage(), offset, like.sizes(), {});
  return alias;
}

}  // namespace

struct GradientReducer::Bucket {
  torch::Tensor flat;
  std::unique_ptr<GradientCodec> codec = nullptr;
  int64_t used = 0;
  size_t parameters = 0;
  size_t pending = 0;
  int root = kAll;
};

struct GradientReducer::Parameter {
  torch::Tensor tensor;
  torch::Tensor gradient;  // shares the bucket's memory
  size_t given = 0;        // index among the given parameters
  size_t bucket = 0;
  std::shared_ptr<torch::autograd::Node> accumulator;
  uintptr_t hook = 0;
};

// Buckets [0, ready) may be reduced, [0, done) are reduced. The thread accesses only the buckets
// between the two; the training thread only the others.
struct GradientReducer::Shared {
  std::unique_ptr<Communicator> channel;
  std::vector<Bucket> buckets;

  std::mutex mutex;
  std::condition_variable changed;
  size_t ready = 0;
  size_t done = 0;
  bool closed = false;
  std::exception_ptr failure;

  // The number of buckets that overlap with the backward pass. The last bucket is reduced on the
  // training thread, which has nothing else to do then.
  size_t early() const { return buckets.size() - 1; }
  bool HasWork() const { return done < std::min(ready, early()); }
  void Reduce(Bucket& bucket);
  void Run();
};

void GradientReducer::Shared::Reduce(Bucket& bucket) {
  torch::NoGradGuard no_grad;
  if (bucket.root == kAll) {
    bucket.codec->Average(*channel, bucket.flat, bucket.used);
  } else {
    bucket.codec->AverageTo(bucket.root, *channel, bucket.flat);
  }
}

void GradientReducer::Shared::Run() {
  std::unique_lock lock(mutex);
  while (true) {
    changed.wait(lock, [&] { return closed || HasWork(); });
    if (closed) return;
    Bucket& bucket = buckets[done];
    lock.unlock();
    std::exception_ptr caught;
    try {
      Reduce(bucket);
    } catch (...) {
      caught = std::current_exception();
    }
    lock.lock();
    if (caught) {
      failure = caught;
      changed.notify_all();
      return;
    }
    ++done;
    if (done == early()) changed.notify_all();
  }
}

GradientReducer::GradientReducer(Communicator& communicator, const NamedParameters& parameters,
                                 const BucketLimits& limits, Optimizations::Compression compression,
                                 const std::vector<int>& owners)
    : shared_(std::make_shared<Shared>()), given_(parameters.size()) {
  FillBuckets(parameters, limits, communicator.on_device(), owners);
  MakeCodecs(compression);
  AddHooks();
  shared_->channel = communicator.Duplicate("gradients");
  if (shared_->early() > 0) thread_ = std::thread([shared = shared_] { shared->Run(); });
}

GradientReducer::~GradientReducer() {
  for (Parameter& parameter : parameters_) parameter.accumulator->del_post_hook(parameter.hook);
  if (!thread_.joinable()) return;
  bool waits_for_peer = false;
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->closed = true;
    shared_->changed.notify_all();
    waits_for_peer = !shared_->failure && shared_->HasWork();
  }
  if (waits_for_peer) {
    thread_.detach();
  } else {
    thread_.join();
  }
}

void GradientReducer::FillBuckets(const NamedParameters& parameters, const BucketLimits& limits,
                                  bool on_device, const std::vector<int>& owners) {
  std::vector<Bucket>& buckets = shared_->buckets;
  // index of the bucket that is being filled
  std::map<std::pair<int, torch::ScalarType>, size_t> open;
  for (size_t i = parameters.size(); i-- > 0;) {
    const auto& [name, tensor] = parameters[i];
    if (!tensor.requires_grad()) continue;
    RequireAveraged(name, tensor, on_device);
    const int root = owners.empty() ? kAll : owners[i];
    const auto [known, is_new] = open.try_emplace({root, tensor.scalar_type()}, buckets.size());
    const int64_t limit = known->second == 0 ? limits.first_bytes : limits.other_bytes;
    const int64_t size = tensor.numel();
    const auto bytes = [&] {
      return (buckets[known->second].used + size) * static_cast<int64_t>(tensor.element_size());
    };
    if (is_new || bytes() > limit) {
      known->second = buckets.size();
      buckets.push_back(
          {.flat = torch::empty({0}, tensor.options().requires_grad(false)), .root = root});
    }
    parameters_.push_back({.tensor = tensor, .given = i, .bucket = known->second});
    buckets[known->second].used += size;
    ++buckets[known->second].parameters;
  }
  if (buckets.empty()) {
    throw Error("the wrapped models have no parameter that requires a gradient");
  }
  for (Bucket& bucket : buckets) {
    const bool last = &bucket == &buckets.back();
    if (last) bucket.root = kAll;  // All ranks need the wish to stop.
    bucket.flat = torch::zeros({bucket.used + (last ? 1 : 0)}, bucket.flat.options());
  }
  std::vector<int64_t> offsets(buckets.size(), 0);
  for (Parameter& parameter : parameters_) {
    int64_t& offset = offsets[parameter.bucket];
    parameter.gradient = Alias(buckets[parameter.bucket].flat, offset, parameter.tensor);
    offset += parameter.tensor.numel();
  }
}

void GradientReducer::MakeCodecs(Optimizations::Compression compression) {
  for (Bucket& bucket : shared_->buckets) bucket.codec = MakeGradientCodec(compression);
}

void GradientReducer::AddHooks() {
  using torch::autograd::utils::LambdaPostHook;
  using Variables = std::vector<torch::autograd::Variable>;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    Parameter& parameter = parameters_[i];
    // The tensor has only a weak reference to its accumulator; this one keeps the hook alive.
    parameter.accumulator = torch::autograd::impl::grad_accumulator(parameter.tensor);
    parameter.hook = parameter.accumulator->add_post_hook(
        std::make_unique<LambdaPostHook>([this, i](const Variables& outputs, const Variables&) {
          Ready(i);
          return outputs;
        }));
  }
}

void GradientReducer::Ready(size_t parameter) {
  if (!prepared_) return;
  std::vector<Bucket>& buckets = shared_->buckets;
  if (--buckets[parameters_[parameter].bucket].pending > 0) return;
  const std::lock_guard lock(shared_->mutex);
  const size_t before = shared_->ready;
  while (shared_->ready < buckets.size() && buckets[shared_->ready].pending == 0) {
    ++shared_->ready;
  }
  if (shared_->ready != before && before < shared_->early()) shared_->changed.notify_all();
}

void GradientReducer::Prepare(bool want_stop) {
  torch::NoGradGuard no_grad;
  // Users may have replaced a gradient by another tensor, or removed it.
  for (Parameter& parameter : parameters_) {
    torch::Tensor& gradient = parameter.tensor.mutable_grad();
    if (!gradient.defined()) {
      parameter.gradient.zero_();
    } else if (gradient.data_ptr() != parameter.gradient.data_ptr()) {
      parameter.gradient.copy_(gradient);
    } else {
      continue;
    }
    gradient = parameter.gradient;
  }
  std::vector<Bucket>& buckets = shared_->buckets;
  buckets.back().flat[buckets.back().used] = want_stop ? 1.0 : 0.0;
  const std::lock_guard lock(shared_->mutex);
  for (Bucket& bucket : buckets) bucket.pending = bucket.parameters;
  shared_->ready = 0;
  shared_->done = 0;
  prepared_ = true;
}

bool GradientReducer::Finish() {
  prepared_ = false;
  Bucket& last = shared_->buckets.back();
  {
    std::unique_lock lock(shared_->mutex);
    if (shared_->ready != shared_->buckets.size()) {
      shared_->ready = shared_->buckets.size();
      shared_->changed.notify_all();
    }
    shared_->changed.wait(lock,
                          [&] { return shared_->failure || shared_->done == shared_->early(); });
    if (shared_->failure) std::rethrow_exception(shared_->failure);
  }
  shared_->Reduce(last);
  return last.flat[last.used].item<double>() > 0.0;
}

std::vector<torch::Tensor> GradientReducer::GetResiduals() const {
  std::vector<torch::Tensor> parts(given_);
  for (const Parameter& parameter : parameters_) {
    const torch::Tensor left_out = shared_->buckets[parameter.bucket].codec->residual();
    if (!left_out.defined()) continue;
    parts[parameter.given] = Alias(left_out, parameter.gradient.storage_offset(), parameter.tensor);
  }
  return parts;
}

void GradientReducer::SetResiduals(const std::vector<torch::Tensor>& parts) {
  std::vector<torch::Tensor> flat(shared_->buckets.size());
  for (const Parameter& parameter : parameters_) {
    if (parameter.given >= parts.size() || !parts[parameter.given].defined()) continue;
    const Bucket& bucket = shared_->buckets[parameter.bucket];
    torch::Tensor& whole = flat[parameter.bucket];
    if (!whole.defined()) whole = torch::zeros({bucket.used}, bucket.flat.options());
    Alias(whole, parameter.gradient.storage_offset(), parameter.tensor)
        .copy_(parts[parameter.given]);
  }
  for (size_t i = 0; i < flat.size(); ++i) {
    if (flat[i].defined()) shared_->buckets[i].codec->set_residual(flat[i]);
  }
}

size_t GradientReducer::num_buckets() const { return shared_->buckets.size(); }

}  // namespace det::trial
