#include "master/core/searcher/bayesian.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "master/core/searcher/gaussian_process.h"
#include "master/core/searcher/start_points.h"

namespace det::searcher {
namespace {

using Points = std::vector<Coordinates>;
using Ranked = History::Ranked;

// Minimum number of judged trials for a model.
constexpr int64_t kStart = 8;
// Maximum number of trials in a model: the best of the ranking, and the latest of the rest.
constexpr size_t kMaxPoints = 128;
constexpr size_t kMaxPending = 32;
// The search for the best point: number of candidates, and of the best ones that are refined.
constexpr int kUniform = 256;
constexpr int kNearBest = 128;
constexpr size_t kMoved = 4;
constexpr int kRounds = 14;
constexpr int kMoves = 12;

// ---- losses to targets ----

double Median(std::vector<double> v) {
  if (v.empty()) return 0;
  const auto middle = v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2);
  std::nth_element(v.begin(), middle, v.end());
  return *middle;
}

// Returns the median change of the loss from one level to the level of comparison, over the trials
// that reported at both.
double Shift(const std::vector<Ranked>& ranked, int from, int to, size_t objective) {
  std::vector<double> shifts;
  for (const Ranked& r : ranked) {
    if (r.losses == nullptr || r.level != to) continue;
    for (const auto& [level, losses] : r.trial->curve) {
      const double shift = (*r.losses)[objective] - losses[objective];
      if (level == from && std::isfinite(shift)) shifts.push_back(shift);
    }
  }
  return Median(std::move(shifts));
}

// Returns one loss of each trial at one length; infinite for failed trials.
std::vector<double> GetLosses(const std::vector<Ranked>& ranked, int level, size_t objective) {
  std::vector<double> losses;
  std::map<int, double> shifts;
  for (const Ranked& r : ranked) {
    double loss =
        r.losses == nullptr ? std::numeric_limits<double>::infinity() : (*r.losses)[objective];
    if (r.losses != nullptr && r.level != level) {
      const auto [it, made] = shifts.try_emplace(r.level, 0);
      if (made) it->second = Shift(ranked, r.level, level, objective);
      loss += it->second;
    }
    losses.push_back(loss);
  }
  return losses;
}

// Normalizes to mean 0 and variance 1 after compressing the losses above the median: how bad the
// bad trials are says little about the good ones.
std::vector<double> Normalize(std::vector<double> losses) {
  double most = 0;
  for (const double v : losses) most = std::isfinite(v) ? std::max(most, std::abs(v)) : most;
  if (most == 0) most = 1;
  // Scaled before subtracting, because a difference may overflow.
  for (double& v : losses) v = std::isfinite(v) ? v / most : 1;
  const double median = Median(losses);
  double unit = median - *std::min_element(losses.begin(), losses.end());
  if (!(unit > 0)) unit = 1;
  for (double& v : losses) {
    v = (v - median) / unit;
    if (v > 0) v = std::log1p(v);
  }
  const double n = static_cast<double>(losses.size());
  const double mean = std::accumulate(losses.begin(), losses.end(), 0.0) / n;
  double square = 0;
  for (const double v : losses) square += (v - mean) * (v - mean);
  const double deviation = square > 0 ? std::sqrt(square / n) : 1;
  for (double& v : losses) v = (v - mean) / deviation;
  return losses;
}

std::vector<double> Targets(const std::vector<Ranked>& ranked, int level, size_t objectives,
                            base::Rng& rng) {
  std::vector<double> one = Normalize(GetLosses(ranked, level, 0));
  if (objectives == 1) return one;
  std::vector<std::vector<double>> all;
  std::vector<double> weights;
  double total = 0;
  for (size_t i = 0; i < objectives; ++i) {
    all.push_back(Normalize(GetLosses(ranked, level, i)));
    weights.push_back(-std::log(1 - rng.Uniform01()));
    total += weights.back();
  }
  // The augmented Chebyshev distance: from the best of each, plus a small part of the sum.
  for (size_t k = 0; k < one.size(); ++k) {
    double largest = -std::numeric_limits<double>::infinity();
    double sum = 0;
    for (size_t i = 0; i < objectives; ++i) {
      const double best = *std::min_element(all[i].begin(), all[i].end());
      const double v = weights[i] / total * (all[i][k] - best);
      largest = std::max(largest, v);
      sum += v;
    }
    one[k] = largest + 0.05 * sum;
  }
  return Normalize(std::move(one));
}

// ---- expected improvement of a point ----

// The logarithm of phi(z) + z Phi(z).
double LogImprovement(double z) {
  constexpr double kLogRoot2Pi = 0.91893853320467274178;
  const double log_phi = -0.5 * z * z - kLogRoot2Pi;
  // The sum cancels there, so its series is used.
  if (z < -12) return log_phi - 2 * std::log(-z) + std::log1p(-3 / (z * z) + 15 / (z * z * z * z));
  return std::log(std::exp(log_phi) + z * 0.5 * std::erfc(-z * 0.70710678118654752));
}

// Returns the logarithms of the expected improvements. Points that were tried before come last:
// noise may make them look best although there is nothing left to find.
std::vector<double> Scores(const GaussianProcess& model, const Points& points, double best,
                           const History::Ranking& ranking) {
  constexpr double kTried = -1e9;
  std::vector<double> scores;
  const auto predictions = model.Predict(points);
  for (size_t i = 0; i < points.size(); ++i) {
    const auto& p = predictions[i];
    const double score = std::log(p.deviation) + LogImprovement((best - p.mean) / p.deviation);
    scores.push_back(score + (ranking.Has(points[i]) ? kTried : 0));
  }
  return scores;
}

Coordinates Move(const Encoding& encoding, Coordinates x, double step, base::Rng& rng) {
  const auto& axes = encoding.axes();
  const double dims = static_cast<double>(axes.size());
  // Changes some coordinates, at least one.
  const double share = std::min(1.0, 2 / dims) + rng.Uniform01() * (1 - std::min(1.0, 2 / dims));
  const size_t sure = static_cast<size_t>(rng.UniformInt(0, static_cast<int64_t>(axes.size()) - 1));
  for (size_t i = 0; i < axes.size(); ++i) {
    if (i != sure && rng.Uniform01() >= share) continue;
    if (std::isnan(x[i])) x[i] = DrawCoordinate(axes[i], rng);
    if (axes[i].categorical) {
      if (i == sure || rng.Uniform01() < 0.2) x[i] = DrawCoordinate(axes[i], rng);
    } else {
      const double least = axes[i].values > 0 ? 0.7 / static_cast<double>(axes[i].values) : 0;
      x[i] += std::max(step, least) * rng.Normal();
    }
  }
  // Absent coordinates as well, in case they become present.
  for (size_t i = 0; i < axes.size(); ++i) {
    if (std::isnan(x[i])) x[i] = DrawCoordinate(axes[i], rng);
  }
  encoding.Snap(x);
  return x;
}

// Returns the point with the largest expected improvement: the best of many, refined by local
// search.
Coordinates Search(const Encoding& encoding, const GaussianProcess& model,
                   const History::Ranking& ranking, double best, base::Rng& rng) {
  const std::vector<Ranked>& ranked = ranking.judged;
  Points points;
  for (int i = 0; i < kUniform; ++i) points.push_back(encoding.Draw(rng));
  for (int i = 0; i < kNearBest; ++i) {
    const size_t near = static_cast<size_t>(i) % std::min<size_t>(ranked.size(), 5);
    const double step = i % 3 == 0 ? 0.2 : i % 3 == 1 ? 0.05 : 0.01;
    points.push_back(Move(encoding, ranked[near].trial->x, step, rng));
  }
  const std::vector<double> scores = Scores(model, points, best, ranking);
  std::vector<size_t> order(points.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&scores](size_t a, size_t b) { return scores[a] > scores[b]; });
  Coordinates result;
  double most = -std::numeric_limits<double>::infinity();
  for (size_t k = 0; k < kMoved; ++k) {
    Coordinates x = points[order[k]];
    double score = scores[order[k]];
    double step = 0.1;
    for (int round = 0; round < kRounds; ++round) {
      Points moved;
      for (int i = 0; i < kMoves; ++i) moved.push_back(Move(encoding, x, step, rng));
      const std::vector<double> reached = Scores(model, moved, best, ranking);
      const auto it = std::max_element(reached.begin(), reached.end());
      if (*it > score) {
        score = *it;
        x = moved[static_cast<size_t>(it - reached.begin())];
      } else {
        step *= 0.5;
      }
    }
    if (result.empty() || score > most) {
      most = score;
      result = std::move(x);
    }
  }
  return result;
}

}  // namespace

model::Hparams BayesianSampler::Next(const model::SearchSpace& space,
                                     const model::RequestId& request, base::Rng& rng) {
  const Encoding encoding(space);
  Coordinates x = Choose(encoding, rng);
  model::Hparams point = encoding.Decode(x);
  history_.Add(request, std::move(x));
  return point;
}

Coordinates BayesianSampler::Choose(const Encoding& encoding, base::Rng& rng) const {
  const size_t dims = encoding.axes().size();
  if (dims == 0) return {};
  History::Ranking ranking = history_.Rank(dims, dims + 2);
  if (static_cast<int64_t>(ranking.judged.size()) < kStart) {
    return StartPoint(encoding, ranking, rng);
  }
  std::vector<Ranked>& judged = ranking.judged;
  const std::vector<double> losses = Targets(judged, ranking.level, objectives_, rng);
  Points points;
  std::vector<double> targets;
  for (size_t i = 0; i < std::min(judged.size(), kMaxPoints); ++i) {
    points.push_back(judged[i].trial->x);
    targets.push_back(losses[i]);
  }
  GaussianProcess model(encoding.axes());
  model.Fit(points, targets);
  double best = std::numeric_limits<double>::infinity();
  for (const auto& p : model.Predict(points)) best = std::min(best, p.mean);
  for (size_t i = 0; i < std::min(ranking.pending.size(), kMaxPending); ++i) {
    const Coordinates& x = ranking.pending[i]->x;
    model.Add(x, model.Predict({x})[0].mean);
  }
  return Search(encoding, model, ranking, best, rng);
}

}  // namespace det::searcher
