// Converts coverage: g++ calls a function at each edge, libFuzzer reads an array of counters.
#include <array>
#include <cstdint>

extern "C" {

// Defined by libFuzzer: registers the counters.
void __sanitizer_cov_8bit_counters_init(uint8_t* begin, uint8_t* end);

// Replaces __sanitizer_cov_trace_pc (--wrap in BUILD), because that of libFuzzer aborts.
void __wrap___sanitizer_cov_trace_pc();
// Called by g++ for floating-point comparisons, which libFuzzer ignores.
void __sanitizer_cov_trace_cmpf(float, float) {}
void __sanitizer_cov_trace_cmpd(double, double) {}
}

namespace {

// More than there are edges. Edges with the same counter are counted as one.
constexpr uintptr_t kCounters = 1 << 16;
std::array<uint8_t, kCounters> counters;

[[maybe_unused]] const bool registered = [] {
  __sanitizer_cov_8bit_counters_init(counters.data(), counters.data() + counters.size());
  return true;
}();

}  // namespace

void __wrap___sanitizer_cov_trace_pc() {
  const auto address = reinterpret_cast<uintptr_t>(__builtin_return_address(0));
  ++counters[(address ^ (address >> 16)) % kCounters];
}
