// Text that every Debian machine has, as bytes: what is below a folder (/usr/share: documentation,
// manual pages, changelogs), gzipped or not.
#ifndef EXAMPLES_CHAR_LM_CORPUS_H_
#define EXAMPLES_CHAR_LM_CORPUS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "det/trial.h"

// Bytes, uint8 of one dimension each. Which files, in which order, and which of them (one of 20)
// are for validation depends on their names and texts alone.
struct Corpus {
  torch::Tensor training;
  torch::Tensor validation;
  int64_t files = 0;
  uint64_t fingerprint = 0;  // the same where the corpus is the same
};

// At most `max_bytes` in all, 64 KiB of a file. Throws det::Error when there are fewer than
// `min_bytes`.
Corpus ReadCorpus(const std::string& folder, int64_t max_bytes, int64_t min_bytes);

// The corpus as so many parallel streams: record i is the chunk number i / streams of stream i %
// streams, `length` bytes and the `length` that come one later. So batches of `streams` records
// that are not shuffled read each stream from its beginning to its end.
class Streams : public det::Dataset {
 public:
  Streams(torch::Tensor bytes, int64_t streams, int64_t length);

  int64_t size() const override { return streams_ * chunks_; }
  std::vector<torch::Tensor> get(int64_t index) const override;

 private:
  const torch::Tensor bytes_;
  const int64_t streams_;
  const int64_t length_;
  const int64_t chunks_;  // of each stream
};

#endif  // EXAMPLES_CHAR_LM_CORPUS_H_
