// Sort orders, equal to those of the statements in postgres/. Used by FakeStore.
#ifndef MASTER_STORE_TESTING_FAKE_SORT_H_
#define MASTER_STORE_TESTING_FAKE_SORT_H_

#include <algorithm>
#include <cmath>
#include <functional>
#include <type_traits>
#include <vector>

#include "master/store/interfaces/records.h"

namespace det::store {

// Compares as PostgreSQL does: NaN is greater than everything and equal to itself.
template <class T>
bool IsLess(const T& a, const T& b) {
  if constexpr (std::is_same_v<T, double>) return std::isnan(b) ? !std::isnan(a) : a < b;
  return a < b;
}

// Sorts by key, then by id; items without a key come last in either direction.
template <class T, class Key, class IdOf>
void SortBy(std::vector<T>& items, bool descending, const Key& key, const IdOf& id) {
  std::stable_sort(items.begin(), items.end(), [&](const T& a, const T& b) {
    const auto x = key(a);
    const auto y = key(b);
    if (x.has_value() != y.has_value()) return x.has_value();
    const T& first = descending ? b : a;
    const T& second = descending ? a : b;
    if (x.has_value() && IsLess(*x, *y)) return !descending;
    if (x.has_value() && IsLess(*y, *x)) return descending;
    return id(first) < id(second);
  });
}

void Sort(std::vector<ExperimentRecord>& items, const ExperimentQuery& query);
void Sort(std::vector<TrialRecord>& items, const TrialQuery& query);
// `smaller_is_better` returns the direction of an experiment's searcher metric.
void Sort(std::vector<CheckpointEntry>& items, const CheckpointQuery& query,
          const std::function<bool(model::ExperimentId)>& smaller_is_better);

}  // namespace det::store

#endif  // MASTER_STORE_TESTING_FAKE_SORT_H_
