#include "trial_api/cpp/torch/gradient_codec.h"

#include <limits>
#include <vector>

#include <torch/types.h>

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
    // Divides before summing, so that the sum does not exceed the largest term.
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

// The format of a packet: a signed byte for each gradient, then the other numbers and the scale as
// float32.
class ByteCodec final : public GradientCodec {
 public:
  void Average(Communicator& channel, torch::Tensor flat, int64_t gradients) override {
    const int64_t others = flat.numel() - gradients;
    const torch::Tensor packet = Encode(flat, gradients);
    const int size = channel.ranks().size;
    const torch::Tensor packets = torch::empty({size, packet.numel()}, packet.options());
    channel.AllGatherBlocks(packet.data_ptr(), packet.nbytes(), packets.data_ptr());
    flat.zero_();
    // In order of rank, so that the sum is the same on all ranks.
    for (int rank = 0; rank < size; ++rank) {
      const torch::Tensor one = packets[rank];
      // Copied, because float32 values must be aligned to four bytes.
      const torch::Tensor floats = one.slice(0, gradients).clone().view(torch::kFloat32);
      flat.slice(0, 0, gradients).add_(Decode(one.slice(0, 0, gradients), floats[others]));
      flat.slice(0, gradients).add_(floats.slice(0, 0, others));
    }
    flat.mul_(1.0 / size);
  }

  void AverageTo(int, Communicator& channel, torch::Tensor flat) override {
    Average(channel, flat, flat.numel());
  }

  torch::Tensor residual() const override { return left_out_; }
  void set_residual(const torch::Tensor& left_out) override { left_out_ = left_out.clone(); }

 private:
  static constexpr double kLevels = 127;  // levels of a signed byte on each side of 0

  static torch::Tensor Decode(const torch::Tensor& levels, const torch::Tensor& scale) {
    return levels.to(torch::kFloat32).mul_(scale);
  }

  torch::Tensor Encode(const torch::Tensor& flat, int64_t gradients) {
    const torch::Tensor numbers = flat.slice(0, 0, gradients);
    if (left_out_.defined()) numbers.add_(left_out_);
    // A NaN or an infinity makes the scale, and therefore all numbers, NaN or infinite.
    const torch::Tensor scale = (numbers.abs().max().to(torch::kFloat32) / kLevels)
                                    .clamp_min(std::numeric_limits<float>::min());
    const torch::Tensor levels = torch::nan_to_num(numbers.to(torch::kFloat32).div(scale), 0.0)
                                     .round_()
                                     .clamp_(-kLevels, kLevels)
                                     .to(torch::kInt8);
    // A step with infinite gradients is skipped by the loss scaling, so it leaves no rounding
    // error.
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
