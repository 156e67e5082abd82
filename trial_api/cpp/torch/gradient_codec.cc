#include "trial_api/cpp/torch/gradient_codec.h"

#include <limits>
#include <vector>

#include <torch/torch.h>

namespace det::trial {
namespace {

using Compression = Optimizations::Compression;

class PlainCodec final : public GradientCodec {
 public:
  void Average(Communicator& channel, torch::Tensor flat, int64_t) override {
    const DType dtype = flat.scalar_type() == torch::kFloat64 ? DType::kFloat64 : DType::kFloat32;
    channel.AllReduceSum(flat.data_ptr(), static_cast<size_t>(flat.numel()), dtype);
    flat.mul_(1.0 / channel.ranks().size);
  }
  void AverageTo(int root, Communicator& channel, torch::Tensor flat) override {
    const DType dtype = flat.scalar_type() == torch::kFloat64 ? DType::kFloat64 : DType::kFloat32;
    channel.ReduceSum(flat.data_ptr(), static_cast<size_t>(flat.numel()), dtype, root);
    if (channel.ranks().rank == root) flat.mul_(1.0 / channel.ranks().size);
  }
};

class SixteenBitCodec final : public GradientCodec {
 public:
  SixteenBitCodec(torch::ScalarType type, DType dtype) : type_(type), dtype_(dtype) {}

  void Average(Communicator& channel, torch::Tensor flat, int64_t) override {
    // Divided first, so that a sum is no larger than its largest part.
    torch::Tensor sum = flat.mul(1.0 / channel.ranks().size).to(type_);
    channel.AllReduceSum(sum.data_ptr(), static_cast<size_t>(sum.numel()), dtype_);
    flat.copy_(sum);
  }
  void AverageTo(int root, Communicator& channel, torch::Tensor flat) override {
    torch::Tensor sum = flat.mul(1.0 / channel.ranks().size).to(type_);
    channel.ReduceSum(sum.data_ptr(), static_cast<size_t>(sum.numel()), dtype_, root);
    if (channel.ranks().rank == root) flat.copy_(sum);
  }

 private:
  const torch::ScalarType type_;
  const DType dtype_;
};

// A packet: a signed byte for each gradient, then in float32 the numbers behind them and the scale.
class ByteCodec final : public GradientCodec {
 public:
  void Average(Communicator& channel, torch::Tensor flat, int64_t gradients) override {
    const int64_t others = flat.numel() - gradients;
    const torch::Tensor packet = Encode(flat, gradients);
    const int size = channel.ranks().size;
    const torch::Tensor packets = torch::empty({size, packet.numel()}, packet.options());
    channel.AllGatherBlocks(packet.data_ptr(), packet.nbytes(), packets.data_ptr());
    flat.zero_();
    for (int rank = 0; rank < size; ++rank) {  // In their order: the same sum on all of them.
      const torch::Tensor one = packets[rank];
      // Copied, as float32 lie at multiples of four.
      const torch::Tensor floats = one.slice(0, gradients).clone().view(torch::kFloat32);
      flat.slice(0, 0, gradients).add_(Decode(one.slice(0, 0, gradients), floats[others]));
      flat.slice(0, gradients).add_(floats.slice(0, 0, others));
    }
    flat.mul_(1.0 / size);
  }

  void AverageTo(int, Communicator& channel, torch::Tensor flat) override {
    Average(channel, flat, flat.numel());
  }

  torch::Tensor left_out() const override { return left_out_; }
  void set_left_out(const torch::Tensor& left_out) override { left_out_ = left_out.clone(); }

 private:
  static constexpr double kLevels = 127;  // of a signed byte, on each side of 0

  static torch::Tensor Decode(const torch::Tensor& levels, const torch::Tensor& scale) {
    return levels.to(torch::kFloat32).mul_(scale);
  }

  torch::Tensor Encode(const torch::Tensor& flat, int64_t gradients) {
    const torch::Tensor numbers = flat.slice(0, 0, gradients);
    if (left_out_.defined()) numbers.add_(left_out_);
    // NaN or infinity among the numbers makes that one of the scale, and so of all, too.
    const torch::Tensor scale = (numbers.abs().max().to(torch::kFloat32) / kLevels)
                                    .clamp_min(std::numeric_limits<float>::min());
    const torch::Tensor levels = torch::nan_to_num(numbers.to(torch::kFloat32).div(scale), 0.0)
                                     .round_()
                                     .clamp_(-kLevels, kLevels)
                                     .to(torch::kInt8);
    // A step with infinite gradients is left out by whoever scales the loss; it leaves nothing.
    left_out_ = torch::nan_to_num(numbers - Decode(levels, scale), 0.0, 0.0, 0.0);
    const torch::Tensor floats =
        torch::cat({flat.slice(0, gradients).to(torch::kFloat32), scale.view({1})});
    return torch::cat({levels, floats.view(torch::kInt8)});
  }

  torch::Tensor left_out_;
};

}  // namespace

std::unique_ptr<GradientCodec> MakeGradientCodec(Compression compression) {
  switch (compression) {
    case Compression::kNone:
      break;
    case Compression::kFloat16:
      return std::make_unique<SixteenBitCodec>(torch::kHalf, DType::kFloat16);
    case Compression::kBFloat16:
      return std::make_unique<SixteenBitCodec>(torch::kBFloat16, DType::kBFloat16);
    case Compression::kInt8:
      return std::make_unique<ByteCodec>();
  }
  return std::make_unique<PlainCodec>();
}

}  // namespace det::trial
