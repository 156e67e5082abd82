// Text that exists on every Debian machine, as bytes: the files below a directory (/usr/share:
// documentation, manual pages, changelogs), gzipped or not.
#ifndef EXAMPLES_CHAR_LM_CORPUS_H_
#define EXAMPLES_CHAR_LM_CORPUS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "det/trial.h"

// One-dimensional tensors of type uint8. The files, their order, and which of them (one of 20) are
// for validation depend only on their names and contents.
struct Corpus {
  torch::Tensor training;
  torch::Tensor validation;
  int64_t files = 0;
  uint64_t fingerprint = 0;  // equal for equal corpora
};

// Reads at most `max_bytes` in total, and 64 KiB of each file. Throws det::Error if there are fewer
// than `min_bytes`.
Corpus ReadCorpus(const std::string& folder, int64_t max_bytes, int64_t min_bytes);

// The corpus as `streams` parallel streams: record i is chunk i / streams of stream i % streams,
// `length` bytes and the `length` bytes that follow by one. So unshuffled batches of `streams`
// records read each stream from beginning to end.
class Streams : public det::Dataset {
 public:
  Streams(torch::Tensor bytes, int64_t streams, int64_t length);

  int64_t size() const override { return streams_ * chunks_; }
  std::vector<torch::Tensor> get(int64_t index) const override;

 private:
  const torch::Tensor bytes_;
  const int64_t streams_;
  const int64_t length_;
  const int64_t chunks_;  // chunks of each stream
};

#endif  // EXAMPLES_CHAR_LM_CORPUS_H_
