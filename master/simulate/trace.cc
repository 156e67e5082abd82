#include "master/simulate/trace.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/rng.h"

namespace det::simulate {
namespace {

// Each property has its own random stream, so that an option changes only what it describes.
enum Stream : uint64_t { kSizes, kLengths, kArrivals, kUsers, kPriorities, kRunTimes };

struct Weighted {
  int value;
  double weight;
};

// Half of all jobs have a single GPU, and there is another peak at a full machine of 8.
constexpr Weighted kSizesOfJobs[] = {{1, 52},   {2, 12}, {4, 10},    {8, 13},    {16, 5},
                                     {32, 3.5}, {64, 2}, {128, 1.0}, {256, 0.4}, {512, 0.15}};
constexpr double kOddSize = 0.04;  // not a power of two
constexpr Weighted kPrioritiesOfJobs[] = {{1, 2}, {20, 8}, {42, 75}, {80, 15}};

// Returns the value at a position of the cumulative weights of values up to `most`.
template <size_t kCount>
int Draw(const Weighted (&from)[kCount], int most, base::Rng& rng) {
  double sum = 0;
  for (const Weighted& w : from) sum += w.value <= most ? w.weight : 0;
  double at = rng.Uniform01() * sum;
  for (const Weighted& w : from) {
    if (w.value > most) continue;
    at -= w.weight;
    if (at < 0) return w.value;
  }
  return from[0].value;
}

int GetMaxSlots(const TraceOptions& o) {
  const int chosen = o.max_slots > 0 ? o.max_slots : std::clamp(o.cluster_slots / 8, 8, 512);
  return std::max(1, std::min(chosen, o.cluster_slots));
}

int DrawSize(int largest, base::Rng& rng) {
  const int size = Draw(kSizesOfJobs, largest, rng);
  if (rng.Uniform01() >= kOddSize) return size;
  return static_cast<int>(rng.UniformInt(std::max(1, size / 2), std::min(largest, size * 2)));
}

// Draws by inversion on [low, high].
double BoundedPareto(double low, double high, double alpha, base::Rng& rng) {
  const double ratio = std::pow(low / high, alpha);
  return low / std::pow(1 - rng.Uniform01() * (1 - ratio), 1 / alpha);
}

// Rounds to whole seconds.
absl::Duration DrawLength(const TraceOptions& o, int slots, base::Rng& rng) {
  const double most = absl::ToDoubleSeconds(o.max_length);
  const double from = std::min(absl::ToDoubleSeconds(o.tail_from), most / 2);
  double seconds = 0;
  if (rng.Uniform01() < o.tail) {
    seconds = BoundedPareto(from, most, o.tail_alpha, rng);
  } else {
    const double median = absl::ToDoubleSeconds(o.median_length) * std::pow(slots, 0.35);
    seconds = median * std::exp(o.sigma * rng.Normal());
  }
  constexpr double kMinSeconds = 10;
  return absl::Seconds(std::round(std::clamp(seconds, std::min(kMinSeconds, most), most)));
}

// Draws ranks 0 to count-1, rank k with a weight of 1 / (k + 1).
class Zipf {
 public:
  explicit Zipf(int count) {
    double sum = 0;
    for (int k = 0; k < count; ++k) sums_.push_back(sum += 1.0 / (k + 1));
  }
  int Draw(base::Rng& rng) const {
    const double at = rng.Uniform01() * sums_.back();
    return static_cast<int>(std::upper_bound(sums_.begin(), sums_.end() - 1, at) - sums_.begin());
  }

 private:
  std::vector<double> sums_;
};

// Returns sorted times in [0, window], denser in the afternoon of each day. The trace begins at
// midnight.
std::vector<double> DrawArrivals(const TraceOptions& o, double window, base::Rng& rng) {
  constexpr double kDay = 86400, kPeak = 15 * 3600;
  std::vector<double> arrivals;
  while (static_cast<int>(arrivals.size()) < o.jobs) {
    const double at = rng.Uniform01() * window;
    const double rate = 1 + o.day_swing * std::cos(2 * std::numbers::pi * (at - kPeak) / kDay);
    if (rng.Uniform01() * (1 + o.day_swing) < rate) arrivals.push_back(std::floor(at));
  }
  std::sort(arrivals.begin(), arrivals.end());
  return arrivals;
}

}  // namespace

Workload MakeTrace(const TraceOptions& o) {
  const base::Rng seed(o.seed);
  base::Rng sizes = seed.Split(kSizes), lengths = seed.Split(kLengths), users = seed.Split(kUsers);
  base::Rng arrivals = seed.Split(kArrivals), priorities = seed.Split(kPriorities);
  base::Rng run_times = seed.Split(kRunTimes);
  Workload trace(static_cast<size_t>(o.jobs));
  const Zipf user_ranks(o.users), workspace_ranks(o.workspaces);
  std::vector<int> workspace_of;
  for (int i = 0; i < o.users; ++i) workspace_of.push_back(workspace_ranks.Draw(users));
  double work = 0;
  for (Job& job : trace) {
    job.slots = DrawSize(GetMaxSlots(o), sizes);
    job.length = DrawLength(o, job.slots, lengths);
    work += job.slots * absl::ToDoubleSeconds(job.length);
    const int user = user_ranks.Draw(users);
    job.user = absl::StrCat("user-", user + 1);
    job.workspace = absl::StrCat("team-", workspace_of[static_cast<size_t>(user)] + 1);
    job.priority = Draw(kPrioritiesOfJobs, 99, priorities);
    if (run_times.Uniform01() < o.run_times) {
      job.max_run_time =
          absl::Ceil(job.length * (1.2 + 2.8 * run_times.Uniform01()), absl::Seconds(1));
    }
  }
  const double window = work / (o.load * o.cluster_slots);
  const std::vector<double> times = DrawArrivals(o, window, arrivals);
  for (size_t i = 0; i < trace.size(); ++i) trace[i].arrival = absl::Seconds(times[i]);
  return trace;
}

}  // namespace det::simulate
