// A cache of bounded size that keeps what was used recently: two generations of entries. New
// entries, and entries that are found in the previous generation, join the current one; when the
// current one is full, it becomes the previous one, whose entries are dropped.
//
// Any thread.
#ifndef BASE_GENERATION_CACHE_H_
#define BASE_GENERATION_CACHE_H_

#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

namespace det::base {

template <class Key, class Value, class Hash = std::hash<Key>>
class GenerationCache {
 public:
  // `capacity`: the size of a generation, in the unit of Keep.
  explicit GenerationCache(size_t capacity) : capacity_(capacity) {}

  std::optional<Value> Find(const Key& key) {
    std::lock_guard lock(mutex_);
    if (const auto it = current_.find(key); it != current_.end()) return it->second.value;
    const auto it = previous_.find(key);
    if (it == previous_.end()) return std::nullopt;
    size_ += it->second.size;
    return current_.insert(previous_.extract(it)).position->second.value;
  }

  // Does nothing if the entry exists already, or is larger than a generation.
  void Keep(Key key, Value value, size_t size) {
    if (size > capacity_) return;
    std::lock_guard lock(mutex_);
    if (size_ + size > capacity_) {
      previous_ = std::exchange(current_, {});
      size_ = 0;
    }
    if (current_.emplace(std::move(key), Entry{std::move(value), size}).second) size_ += size;
  }

 private:
  struct Entry {
    Value value;
    size_t size = 0;
  };
  using Generation = std::unordered_map<Key, Entry, Hash>;

  const size_t capacity_;
  std::mutex mutex_;
  Generation current_, previous_;
  size_t size_ = 0;  // of current_
};

}  // namespace det::base

#endif  // BASE_GENERATION_CACHE_H_
