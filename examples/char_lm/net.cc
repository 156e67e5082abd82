#include "net.h"

#include <algorithm>
#include <cmath>

#include "det/trial.h"

namespace {

torch::nn::Linear WithoutBias(int64_t in, int64_t out) {
  return torch::nn::Linear(torch::nn::LinearOptions(in, out).bias(false));
}

// The number of texts that are processed in parallel.
constexpr size_t kTogether = 64;

// Returns the texts [begin, end) as a batch; shorter ones are padded.
torch::Tensor ComputeMeanHidden(CharNet& net, const std::vector<std::string>& texts, size_t begin,
                                size_t end) {
  const auto count = static_cast<int64_t>(end - begin);
  size_t longest = 0;
  for (size_t i = begin; i < end; ++i) longest = std::max(longest, texts[i].size());
  torch::Tensor bytes = torch::zeros({count, static_cast<int64_t>(longest)}, torch::kUInt8);
  torch::Tensor lengths = torch::zeros({count, 1}, torch::kInt64);
  for (int64_t i = 0; i < count; ++i) {
    const std::string& text = texts[begin + static_cast<size_t>(i)];
    std::copy(text.begin(), text.end(), bytes[i].data_ptr<uint8_t>());
    lengths[i][0] = static_cast<int64_t>(text.size());
  }
  const torch::Tensor read = net->Read(bytes);
  State state = State::Zero(count, net->hidden);
  torch::Tensor sum = torch::zeros({count, net->hidden});
  for (int64_t t = 0; t < read.size(0); ++t) {
    state = net->Step(read[t], state);
    sum += state.hidden * (lengths > t);
  }
  return sum / lengths.clamp_min(1);
}

}  // namespace

State State::Zero(int64_t sequences, int64_t hidden, torch::Device device) {
  return {torch::zeros({sequences, hidden}, device), torch::zeros({sequences, hidden}, device)};
}

CharNetImpl::CharNetImpl(int64_t hidden)
    : hidden(hidden),
      of_byte(256, 5 * hidden),
      of_hidden(WithoutBias(hidden, hidden)),
      of_intermediate(hidden, 4 * hidden),
      out(hidden, 256) {
  register_module("of_byte", of_byte);
  register_module("of_hidden", of_hidden);
  register_module("of_intermediate", of_intermediate);
  register_module("out", out);
  torch::NoGradGuard no_grad;
  const double bound = 1.0 / std::sqrt(static_cast<double>(hidden));
  of_byte->weight.uniform_(-bound, bound);
  // The intermediate state is a product of two small numbers; one of them starts near 1.
  of_byte->weight.slice(1, 0, hidden).add_(1.0);
  // The forget gate is initially open.
  of_intermediate->bias.zero_();
  of_intermediate->bias.slice(0, hidden, 2 * hidden).fill_(1.0);
}

torch::Tensor CharNetImpl::Read(const torch::Tensor& bytes) {
  return of_byte(bytes.t().to(torch::kInt64));
}

State CharNetImpl::Step(const torch::Tensor& read, const State& state) {
  const torch::Tensor intermediate = read.slice(1, 0, hidden) * of_hidden(state.hidden);
  const auto gates = (read.slice(1, hidden) + of_intermediate(intermediate)).chunk(4, 1);
  const torch::Tensor input = torch::sigmoid(gates[0]) * torch::tanh(gates[3]);
  State next;
  next.cell = torch::sigmoid(gates[1]) * state.cell + input;
  next.hidden = torch::sigmoid(gates[2]) * torch::tanh(next.cell);
  return next;
}

torch::Tensor CharNetImpl::forward(const torch::Tensor& bytes, State& state) {
  const torch::Tensor read = Read(bytes);
  std::vector<torch::Tensor> hidden_states;
  for (int64_t t = 0; t < read.size(0); ++t) {
    state = Step(read[t], state);
    hidden_states.push_back(state.hidden);
  }
  return out(torch::stack(hidden_states)).flatten(0, 1);
}

torch::Tensor Loss(const torch::Tensor& scores, const torch::Tensor& target) {
  return torch::cross_entropy_loss(scores.to(torch::kFloat32),
                                   target.t().flatten().to(torch::kInt64));
}

torch::Tensor MeanHidden(CharNet& net, const std::vector<std::string>& texts) {
  torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> parts;
  for (size_t i = 0; i < texts.size(); i += kTogether) {
    parts.push_back(ComputeMeanHidden(net, texts, i, std::min(texts.size(), i + kTogether)));
  }
  return torch::cat(parts);
}
