#include "master/core/searcher/tpe.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "master/core/searcher/parzen.h"
#include "master/core/searcher/start_points.h"

namespace det::searcher {
namespace {

// Judged trials before the first model.
constexpr int64_t kFirstRandom = 10;
// Of the judged trials this part is good, at most so many.
constexpr double kGoodPart = 0.12;
constexpr int64_t kMostGood = 25;
// Bounds the work: the best of the bad, and the latest that run.
constexpr size_t kMostBad = 160;
constexpr size_t kPendingLimit = 40;
constexpr int kCandidates = 24;
// Of one point, when there are 100; wider before and narrower later, so that the search goes from
// far to near. The density of the good is the sharper one.
constexpr double kGoodBandwidth = 0.04;
constexpr double kBadBandwidth = 0.06;
constexpr double kNarrowing = 1.25;  // exponent
// For each trial they are wider by up to this factor, so that some look farther.
constexpr double kWidest = 2;
// Where most trials were stopped short of the length at which points are compared, what is known of
// them is rough, and of those that learn fast. There this part is drawn at random, as BOHB has it,
// and the kernels are so much wider, and stay so.
constexpr double kRandomPart = 1.0 / 3;
constexpr double kRough = 6;
// How often each hyperparameter is chosen by itself. Never where there are categories: which of
// them it is often decides what is good for the others.
constexpr double kAlone = 0.2;

using UnitPoints = std::vector<Parzen::Point>;

// The better, the more weight, as in CMA-ES (Hansen 2016); on average 1.
UnitPoints Good(const History::Ranking& ranking, size_t count) {
  UnitPoints points;
  double total = 0;
  for (size_t i = 0; i < count; ++i) {
    const double weight =
        std::log(static_cast<double>(count) + 0.5) - std::log(static_cast<double>(i) + 1);
    points.push_back({.x = &ranking.judged[i].trial->x, .weight = weight});
    total += weight;
  }
  for (Parzen::Point& point : points) point.weight *= static_cast<double>(count) / total;
  return points;
}

bool IsRough(const History::Ranking& ranking) {
  return 2 * ranking.comparable < ranking.judged.size();
}

UnitPoints Bad(const History::Ranking& ranking, size_t good) {
  UnitPoints points;
  const size_t end = std::min(ranking.judged.size(), good + kMostBad);
  for (size_t i = good; i < end; ++i) points.push_back({.x = &ranking.judged[i].trial->x});
  for (size_t i = 0; i < std::min(ranking.pending.size(), kPendingLimit); ++i) {
    points.push_back({.x = &ranking.pending[i]->x});
  }
  return points;
}

Coordinates ChooseTogether(const Encoding& encoding, const History::Ranking& ranking,
                           const UnitPoints& good, const UnitPoints& bad, base::Rng& rng) {
  const double points = static_cast<double>(good.size() + bad.size());
  const double width = std::pow(kWidest, rng.Uniform01()) *
                       (IsRough(ranking) ? kRough : std::pow(100 / points, kNarrowing));
  std::vector<size_t> axes(encoding.axes().size());
  std::iota(axes.begin(), axes.end(), size_t{0});
  const Parzen l(encoding, axes, good, width * kGoodBandwidth);
  const Parzen g(encoding, axes, bad, width * kBadBandwidth);
  Coordinates best, x(axes.size());
  double most = -std::numeric_limits<double>::infinity();
  for (int i = 0; i < kCandidates; ++i) {
    l.Sample(rng, x);
    encoding.Snap(x);
    const double score = l.LogDensity(x) - g.LogDensity(x);
    if (!best.empty() && (score <= most || ranking.Has(x))) continue;
    most = best.empty() && ranking.Has(x) ? -std::numeric_limits<double>::infinity() : score;
    best = x;
  }
  return best;
}

Coordinates ChooseAlone(const Encoding& encoding, const UnitPoints& good, const UnitPoints& bad,
                        base::Rng& rng) {
  Coordinates best(encoding.axes().size()), x = best;
  for (size_t a = 0; a < best.size(); ++a) {
    const Parzen l(encoding, {a}, good, kGoodBandwidth), g(encoding, {a}, bad, kBadBandwidth);
    double most = -std::numeric_limits<double>::infinity();
    for (int i = 0; i < kCandidates; ++i) {
      l.Sample(rng, x);
      const double score = l.LogDensity(x) - g.LogDensity(x);
      if (score > most) {
        most = score;
        best[a] = x[a];
      }
    }
  }
  encoding.Snap(best);
  return best;
}

}  // namespace

model::Hparams TpeSampler::Next(const model::SearchSpace& space, const model::RequestId& request,
                                base::Rng& rng) {
  const Encoding encoding(space);
  Coordinates x = Choose(encoding, rng);
  model::Hparams point = encoding.Decode(x);
  history_.Add(request, std::move(x));
  return point;
}

Coordinates TpeSampler::Choose(const Encoding& encoding, base::Rng& rng) const {
  const size_t axes = encoding.axes().size();
  if (axes == 0) return {};
  const int64_t good_count = std::clamp<int64_t>(
      std::llround(std::ceil(kGoodPart * static_cast<double>(history_.judged()))), 1, kMostGood);
  // A length that few have reached cannot tell the good from the others.
  const size_t enough = axes + 2;
  const History::Ranking ranking = history_.Rank(axes, enough, kMostGood + kMostBad);
  if (static_cast<int64_t>(ranking.judged.size()) < kFirstRandom) {
    return StartPoint(encoding, ranking, rng);
  }
  if (IsRough(ranking) && rng.Uniform01() < kRandomPart) return encoding.Draw(rng);
  // The history counts some that it has forgotten since.
  const UnitPoints good =
      Good(ranking, std::min(static_cast<size_t>(good_count), ranking.judged.size()));
  const UnitPoints bad = Bad(ranking, good.size());
  const bool categories = std::any_of(encoding.axes().begin(), encoding.axes().end(),
                                      [](const Axis& axis) { return axis.categorical; });
  if (!categories && rng.Uniform01() < kAlone) return ChooseAlone(encoding, good, bad, rng);
  return ChooseTogether(encoding, ranking, good, bad, rng);
}

}  // namespace det::searcher
