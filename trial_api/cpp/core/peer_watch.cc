#include "trial_api/cpp/core/peer_watch.h"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

namespace det::core {
namespace {

// The time between two barriers; the loss of a peer during a barrier is detected at once.
constexpr std::chrono::seconds kPause(1);

}  // namespace

struct PeerWatch::Shared {
  std::unique_ptr<Communicator> channel;  // used by the thread
  std::mutex mutex;
  std::condition_variable changed;
  bool closed = false;
  std::string gone;

  void Run() {
    std::unique_lock lock(mutex);
    while (!closed) {
      lock.unlock();
      std::string words;
      try {
        channel->Barrier();
      } catch (const std::exception& error) {
        words = error.what();
      }
      lock.lock();
      if (!words.empty()) {
        gone = words;
        return;
      }
      changed.wait_for(lock, kPause, [&] { return closed; });
    }
  }
};

PeerWatch::PeerWatch(std::unique_ptr<Communicator> channel) : shared_(std::make_shared<Shared>()) {
  shared_->channel = std::move(channel);
  std::thread([shared = shared_] { shared->Run(); }).detach();
}

PeerWatch::~PeerWatch() {
  const std::lock_guard lock(shared_->mutex);
  shared_->closed = true;
  shared_->changed.notify_all();
}

std::string PeerWatch::gone() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->gone;
}

}  // namespace det::core
