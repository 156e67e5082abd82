// Topic: callbacks by key.
//
// Any thread. A callback runs on the notifier's thread under the topic's lock: it must only wake
// its subscriber, and must not call a method of the topic. It does not run after Unsubscribe()
// returns.
#ifndef MASTER_LIVE_TOPIC_H_
#define MASTER_LIVE_TOPIC_H_

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <utility>

namespace det::live {

template <class Key>
class Topic {
 public:
  int64_t Subscribe(const Key& key, std::function<void()> callback) {
    std::lock_guard lock(mutex_);
    callbacks_[key].emplace(++last_id_, std::move(callback));
    return last_id_;
  }

  void Unsubscribe(const Key& key, int64_t id) {
    std::lock_guard lock(mutex_);
    const auto it = callbacks_.find(key);
    if (it == callbacks_.end()) return;
    it->second.erase(id);
    if (it->second.empty()) callbacks_.erase(it);
  }

  bool HasSubscribers(const Key& key) {
    std::lock_guard lock(mutex_);
    return callbacks_.contains(key);
  }

  void Notify(const Key& key) {
    std::lock_guard lock(mutex_);
    const auto it = callbacks_.find(key);
    if (it == callbacks_.end()) return;
    for (const auto& [id, callback] : it->second) callback();
  }

 private:
  std::mutex mutex_;
  int64_t last_id_ = 0;
  std::map<Key, std::map<int64_t, std::function<void()>>> callbacks_;
};

}  // namespace det::live

#endif  // MASTER_LIVE_TOPIC_H_
