#include "base/rng.h"

#include <bit>
#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/check.h"

namespace det::base {
namespace {

constexpr absl::string_view kFormat = "xoshiro256++";

// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
uint64_t SplitMix(uint64_t& state) {
  uint64_t z = (state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// The natural logarithm from basic operations only, because the last bit of libm's result differs
// between versions: log(m 2^e) = 2 atanh((m-1)/(m+1)) + e log 2, with m near 1 so that the series
// converges quickly.
double PortableLog(double x) {
  constexpr double kLog2 = 0.693147180559945309417232;
  constexpr double kSqrtHalf = 0.707106781186547524400844;
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);
  if (mantissa < kSqrtHalf) {
    mantissa *= 2;
    --exponent;
  }
  const double s = (mantissa - 1) / (mantissa + 1);
  const double s2 = s * s;
  double sum = 0;
  for (int k = 27; k >= 1; k -= 2) sum = sum * s2 + 1.0 / k;
  return 2 * s * sum + exponent * kLog2;
}

}  // namespace

Rng::Rng(uint64_t seed) {
  for (uint64_t& word : state_) word = SplitMix(seed);
}

Rng Rng::Split(uint64_t stream) const {
  uint64_t mix = stream;
  uint64_t seed = SplitMix(mix);
  for (const uint64_t word : state_) {
    seed ^= word;
    seed = SplitMix(seed);
  }
  return Rng(seed);
}

uint64_t Rng::Next() {
  auto& s = state_;
  const uint64_t result = std::rotl(s[0] + s[3], 23) + s[0];
  const uint64_t t = s[1] << 17;
  s[2] ^= s[0];
  s[3] ^= s[1];
  s[1] ^= s[2];
  s[0] ^= s[3];
  s[2] ^= t;
  s[3] = std::rotl(s[3], 45);
  return result;
}

double Rng::Uniform01() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }

int64_t Rng::UniformInt(int64_t lo, int64_t hi) {
  DET_CHECK(lo <= hi) << lo << " > " << hi;
  const uint64_t width = static_cast<uint64_t>(hi) - static_cast<uint64_t>(lo) + 1;
  if (width == 0) return static_cast<int64_t>(Next());  // The range is all 2^64 values.
  // 2^64 mod width. Smaller values are rejected, because they would favor some results.
  const uint64_t surplus = (0 - width) % width;
  uint64_t value = Next();
  while (value < surplus) value = Next();
  return static_cast<int64_t>(static_cast<uint64_t>(lo) + value % width);
}

double Rng::Normal() {
  while (true) {
    const double u = 2 * Uniform01() - 1;
    const double v = 2 * Uniform01() - 1;
    const double s = u * u + v * v;
    // The second number of the pair, v * factor, is dropped; keeping it would add to the saved
    // state.
    if (s > 0 && s < 1) return u * std::sqrt(-2 * PortableLog(s) / s);
  }
}

std::string Rng::ToString() const {
  std::string text(kFormat);
  for (const uint64_t word : state_) absl::StrAppend(&text, ":", absl::Hex(word, absl::kZeroPad16));
  return text;
}

absl::StatusOr<Rng> Rng::FromString(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ':');
  std::array<uint64_t, 4> state{};
  bool valid = parts.size() == 5 && parts[0] == kFormat;
  for (size_t i = 0; valid && i < 4; ++i) {
    valid = parts[i + 1].size() == 16 && absl::SimpleHexAtoi(parts[i + 1], &state[i]);
  }
  if (!valid || state == std::array<uint64_t, 4>{}) {
    return absl::InvalidArgumentError(absl::StrCat("invalid random generator state:  ", text));
  }
  return Rng(state);
}

}  // namespace det::base
