#include "master/core/searcher/start_points.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace det::searcher {
namespace {

// More would put most points on the bounds, where there is the most room.
constexpr int kTries = 4;

double Distance(const Encoding& encoding, const Coordinates& a, const Coordinates& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += SquareDistance(encoding.axes()[i], a[i], b[i]);
  return sum;
}

}  // namespace

Coordinates StartPoint(const Encoding& encoding, const History::Ranking& ranking, base::Rng& rng) {
  Coordinates best;
  double room = -1;
  for (int i = 0; i < kTries; ++i) {
    Coordinates x = encoding.Draw(rng);
    double nearest = std::numeric_limits<double>::infinity();
    for (const auto& judged : ranking.judged) {
      nearest = std::min(nearest, Distance(encoding, x, judged.trial->x));
    }
    for (const History::Trial* trial : ranking.pending) {
      nearest = std::min(nearest, Distance(encoding, x, trial->x));
    }
    if (nearest > room) {
      room = nearest;
      best = std::move(x);
    }
  }
  return best;
}

}  // namespace det::searcher
