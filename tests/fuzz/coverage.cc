// libFuzzer counts by an array of counters, g++ calls a function at each place: this is it.
#include <array>
#include <cstdint>

extern "C" {

// libFuzzer's: the counters that it is to look at.
void __sanitizer_cov_8bit_counters_init(uint8_t* begin, uint8_t* end);

// Called for __sanitizer_cov_trace_pc (--wrap in BUILD), as libFuzzer has one that gives up.
void __wrap___sanitizer_cov_trace_pc();
// g++'s for comparisons of floating point, which libFuzzer does not look at.
void __sanitizer_cov_trace_cmpf(float, float) {}
void __sanitizer_cov_trace_cmpd(double, double) {}
}

namespace {

// More than there are places; two that meet in one counter are taken for one.
constexpr uintptr_t kCounters = 1 << 16;
std::array<uint8_t, kCounters> counters;

[[maybe_unused]] const bool told = [] {
  __sanitizer_cov_8bit_counters_init(counters.data(), counters.data() + counters.size());
  return true;
}();

}  // namespace

void __wrap___sanitizer_cov_trace_pc() {
  const auto place = reinterpret_cast<uintptr_t>(__builtin_return_address(0));
  ++counters[(place ^ (place >> 16)) % kCounters];
}
