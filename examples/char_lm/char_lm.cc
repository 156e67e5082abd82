// Learns to predict the next character in the documentation of a Debian machine: the workload of
// Puri et al., "Large Scale Language Modeling: Converging on 40GB of Text in Four Hours", 2018,
// scaled down. Uses truncated back-propagation through time: the state of the net is carried from
// batch to batch, and saved with the trial.
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "corpus.h"
#include "det/trial.h"
#include "net.h"

namespace {

// Bytes in each window of the validation.
constexpr int64_t kValidationLength = 256;

std::string ToByteString(const torch::Tensor& floats) {
  const torch::Tensor flat = floats.to(torch::kCPU).contiguous();
  return {static_cast<const char*>(flat.data_ptr()), static_cast<size_t>(flat.nbytes())};
}

}  // namespace

// The state of this rank's streams, which are reset at the start of each epoch. A checkpoint
// contains the states of all ranks, so the streams continue on another number of slots, too.
class Carry : public det::Callback {
 public:
  Carry(det::TrialContext& context, int64_t hidden)
      : context_(context), hidden_(hidden), state_(Zero()) {}

  State& state() { return state_; }
  // Detaches the state, so that the gradients of the next batch do not include earlier batches.
  void Cut() {
    state_.hidden = state_.hidden.detach();
    state_.cell = state_.cell.detach();
  }

  void on_training_epoch_start(int64_t) override { state_ = Zero(); }

  // Called on every rank; only the chief's state is saved.
  void on_checkpoint_start(int64_t) override {
    all_.clear();
    for (const torch::Tensor& own : {state_.hidden, state_.cell}) {
      std::string rows;
      for (const std::string& part : context_.core().communicator().AllGather(ToByteString(own))) {
        rows += part;
      }
      torch::Tensor whole = torch::empty({context_.global_batch_size(), hidden_});
      std::memcpy(whole.data_ptr(), rows.data(), rows.size());
      all_.push_back(whole);
    }
  }
  void save_state(torch::serialize::OutputArchive& archive) const override {
    archive.write("hidden", all_.at(0));
    archive.write("cell", all_.at(1));
  }
  void load_state(torch::serialize::InputArchive& archive) override {
    torch::Tensor hidden;
    torch::Tensor cell;
    archive.read("hidden", hidden);
    archive.read("cell", cell);
    // Another batch size has other streams, which start again.
    if (hidden.size(0) != context_.global_batch_size() || hidden.size(1) != hidden_) return;
    const int64_t begin = context_.ranks().rank * context_.per_slot_batch_size();
    const auto own = [&](const torch::Tensor& all) {
      return all.slice(0, begin, begin + context_.per_slot_batch_size()).to(context_.device());
    };
    state_ = {own(hidden), own(cell)};
  }

 private:
  State Zero() const {
    return State::Zero(context_.per_slot_batch_size(), hidden_, context_.device());
  }

  det::TrialContext& context_;
  const int64_t hidden_;
  State state_;
  std::vector<torch::Tensor> all_;
};

class CharLmTrial : public det::Trial {
 public:
  explicit CharLmTrial(det::TrialContext& context)
      : context_(context),
        hidden_(context.hparam<int64_t>("hidden")),
        length_(context.hparam<int64_t>("sequence_length")),
        corpus_(ReadCorpus(context.data().GetOr<std::string>("path", "/usr/share"),
                           context.data().GetOr<int64_t>("bytes", 4 << 20),
                           context.data().GetOr<int64_t>("min_bytes", 1 << 20))),
        net_(context.wrap_model(CharNet(hidden_))),
        adam_(context.wrap_optimizer(
            torch::optim::Adam(net_->parameters(), context.hparam<double>("learning_rate")))),
        carry_(std::make_shared<Carry>(context, hidden_)) {
    ComparePlaces();
    // The learning rate was tuned for batches of reference_batch_size; larger batches allow a
    // larger rate.
    const double scale = det::lr::linear_scaling(context.global_batch_size(),
                                                 context.hparam<int64_t>("reference_batch_size"));
    context.schedule_lr(
        adam_, det::lr::scaled(scale, det::lr::warmup(context.hparam<int64_t>("warmup_batches"),
                                                      det::lr::polynomial(1.0))));
    const auto precision = context.hparams().GetOr<std::string>("precision", "float32");
    if (precision == "bfloat16") {
      context.use_mixed_precision(torch::kBFloat16);
    } else if (precision == "float16") {
      context.use_mixed_precision(torch::kHalf);
    } else if (precision != "float32") {
      throw det::InvalidHp("precision is " + precision + ": expected float32, bfloat16 or float16");
    }
  }

  det::DataLoader build_training_data_loader() override {
    return {Streams(corpus_.training, context_.global_batch_size(), length_)};
  }

  // The windows are independent, so that any rank can read any of them.
  det::DataLoader build_validation_data_loader() override {
    return {Streams(corpus_.validation, 1, kValidationLength), {.global_batch_size = 64}};
  }

  det::Callbacks build_callbacks() override { return {{"carry", carry_}}; }

  det::BatchMetrics train_batch(const det::Batch& batch, int64_t, int64_t) override {
    const torch::Tensor loss = Loss(net_(batch.data(), carry_->state()), batch.target());
    context_.backward(loss);
    carry_->Cut();
    context_.step_optimizer(adam_, {.norm = 1.0});
    return {{"loss", loss.detach()}, {"bits_per_character", loss.detach() / std::log(2.0)}};
  }

  det::BatchMetrics evaluate_batch(const det::Batch& batch) override {
    State state = State::Zero(batch.size(), hidden_, context_.device());
    const torch::Tensor loss = Loss(net_(batch.data(), state), batch.target());
    return {{"loss", loss}, {"bits_per_character", loss / std::log(2.0)}};
  }

 private:
  // Machines have different packages, and ranks must not train on different texts.
  void ComparePlaces() {
    const auto all = context_.core().communicator().AllGather(std::to_string(corpus_.fingerprint));
    for (size_t rank = 1; rank < all.size(); ++rank) {
      if (all[rank] == all[0]) continue;
      throw det::Error("rank " + std::to_string(rank) +
                       " found different text than rank 0: set data.path to a directory that all "
                       "nodes share");
    }
  }

  det::TrialContext& context_;
  const int64_t hidden_;
  const int64_t length_;
  const Corpus corpus_;
  CharNet net_;
  std::shared_ptr<torch::optim::Adam> adam_;
  const std::shared_ptr<Carry> carry_;
};
