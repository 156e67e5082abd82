// Random numbers that are the same on every machine and with every compiler, so that the journal of
// a searcher replays exactly. xoshiro256++ (Blackman and Vigna, "Scrambled Linear Pseudorandom
// Number Generators", ACM TOMS 47(4), 2021), seeded with SplitMix64. Owned by one search method,
// test or simulation; not thread-safe. Does not use <random>, whose distributions differ between
// libraries. Not for secrets. PURE.
#ifndef BASE_RNG_H_
#define BASE_RNG_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace det::base {

class Rng {
 public:
  explicit Rng(uint64_t seed);

  // Restores a generator from the text that ToString() returned. Returns INVALID_ARGUMENT for any
  // other text.
  static absl::StatusOr<Rng> FromString(absl::string_view text);
  std::string ToString() const;

  // Returns an independent generator for `stream`, derived from the current state without changing
  // it: the same state and stream give the same child.
  Rng Split(uint64_t stream) const;

  uint64_t Next();

  // Returns a number in [0, 1), in steps of 2^-53.
  double Uniform01();

  // Returns a number in [lo, hi], both included, without bias. REQUIRES lo <= hi.
  int64_t UniformInt(int64_t lo, int64_t hi);

  // Returns a normal number with mean 0 and variance 1. Marsaglia's polar method (SIAM Review 6(3),
  // 1964).
  double Normal();

  // Shuffles `items` (Fisher and Yates); every order is equally likely.
  template <class T>
  void Shuffle(std::vector<T>& items) {
    for (size_t i = items.size(); i > 1; --i) {
      const auto j = static_cast<size_t>(UniformInt(0, static_cast<int64_t>(i) - 1));
      using std::swap;
      swap(items[i - 1], items[j]);
    }
  }

  friend bool operator==(const Rng&, const Rng&) = default;

 private:
  explicit Rng(const std::array<uint64_t, 4>& state) : state_(state) {}

  std::array<uint64_t, 4> state_;
};

}  // namespace det::base

#endif  // BASE_RNG_H_
