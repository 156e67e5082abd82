// A multiplicative LSTM over bytes: Krause et al., "Multiplicative LSTM for sequence modelling",
// 2016; the net of Radford et al., "Learning to generate reviews and discovering sentiment", 2017.
#ifndef EXAMPLES_CHAR_LM_NET_H_
#define EXAMPLES_CHAR_LM_NET_H_

#include <cstdint>
#include <string>
#include <vector>

#include "det/trial.h"

// The state of the net for each sequence; both are [sequences, hidden], float32.
struct State {
  torch::Tensor hidden;
  torch::Tensor cell;

  static State Zero(int64_t sequences, int64_t hidden, torch::Device device = torch::kCPU);
};

struct CharNetImpl : torch::nn::Module {
  explicit CharNetImpl(int64_t hidden);

  // Processes one byte of each sequence; `read` is a row of Read().
  //   m = (Wmx x) * (Wmh h);  i, f, o, u = Wx x + Wm m + b
  //   c' = sigmoid(f) c + sigmoid(i) tanh(u);  h' = sigmoid(o) tanh(c')
  State Step(const torch::Tensor& read, const State& state);
  // Returns the input projections [time, sequences, 5 hidden] of bytes [sequences, time].
  torch::Tensor Read(const torch::Tensor& bytes);
  // Returns the unnormalized scores of the next byte, [time * sequences, 256], for bytes
  // [sequences, time]. Sets `state` to the state after the last byte.
  torch::Tensor forward(const torch::Tensor& bytes, State& state);

  const int64_t hidden;
  torch::nn::Embedding of_byte;       // Wmx and Wx: a byte is one-hot, so the product is a row
  torch::nn::Linear of_hidden;        // Wmh
  torch::nn::Linear of_intermediate;  // Wm, b
  torch::nn::Linear out;
};
TORCH_MODULE(CharNet);

// Returns the mean over all bytes in nats; `target` is [sequences, time] and belongs to forward()'s
// scores.
torch::Tensor Loss(const torch::Tensor& scores, const torch::Tensor& target);

// Returns the mean of the hidden states after all bytes of each text, [texts, hidden], starting
// with a zero state.
torch::Tensor MeanHidden(CharNet& net, const std::vector<std::string>& texts);

#endif  // EXAMPLES_CHAR_LM_NET_H_
