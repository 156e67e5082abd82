// A set of nodes by their ranks, with the smallest one at or after a rank in a few machine words.
// PURE.
#ifndef MASTER_CORE_SCHEDULER_NODE_SET_H_
#define MASTER_CORE_SCHEDULER_NODE_SET_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace det::scheduler {

// Two levels of bits: one per rank, and one per word that is not zero.
class NodeSet {
 public:
  explicit NodeSet(int ranks)
      : words_((static_cast<size_t>(ranks) + 63) / 64), summary_((words_.size() + 63) / 64) {}

  int size() const { return size_; }

  // REQUIRES that it is not in the set.
  void Insert(int rank) {
    const auto word = static_cast<size_t>(rank) / 64;
    words_[word] |= Bit(static_cast<size_t>(rank));
    summary_[word / 64] |= Bit(word);
    ++size_;
  }

  // REQUIRES that it is in the set.
  void Erase(int rank) {
    const auto word = static_cast<size_t>(rank) / 64;
    words_[word] &= ~Bit(static_cast<size_t>(rank));
    if (words_[word] == 0) summary_[word / 64] &= ~Bit(word);
    --size_;
  }

  // The smallest that is not below `from`; -1 when there is none.
  int Next(int from) const {
    auto word = static_cast<size_t>(from) / 64;
    if (size_ == 0 || word >= words_.size()) return -1;
    const uint64_t here = words_[word] & (~uint64_t{0} << (static_cast<size_t>(from) % 64));
    if (here != 0) return Rank(word, here);
    const int next = NextBit(summary_, word + 1);
    if (next < 0) return -1;
    word = static_cast<size_t>(next);
    return Rank(word, words_[word]);
  }

 private:
  static uint64_t Bit(size_t position) { return uint64_t{1} << (position % 64); }
  static int Rank(size_t word, uint64_t bits) {
    return static_cast<int>(word * 64) + std::countr_zero(bits);
  }
  static int NextBit(const std::vector<uint64_t>& words, size_t from) {
    uint64_t mask = ~uint64_t{0} << (from % 64);
    for (size_t word = from / 64; word < words.size(); ++word, mask = ~uint64_t{0}) {
      if ((words[word] & mask) != 0) return Rank(word, words[word] & mask);
    }
    return -1;
  }

  std::vector<uint64_t> words_;
  std::vector<uint64_t> summary_;
  int size_ = 0;
};

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_NODE_SET_H_
