#include "trial_api/cpp/core/tensorboard_folder.h"

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "trial_api/cpp/core/error.h"

namespace det::core {
namespace {

// A changed file may be copied as a whole, so a new file is started after this size, and only the
// last file of a long run is copied.
constexpr int64_t kMaxFileBytes = 256 << 10;
constexpr auto kCopyPeriod = std::chrono::seconds(1);

class FolderTensorboard final : public Tensorboard {
 public:
  FolderTensorboard(std::string folder, std::function<void(const std::string&)> copy, WallClock now,
                    std::optional<int64_t> resumed_at)
      : folder_(std::move(folder)),
        copy_(std::move(copy)),
        now_(std::move(now)),
        resumed_at_(resumed_at) {}

  ~FolderTensorboard() override {
    {
      std::unique_lock lock(mutex_);
      urgent_ = requested_;
      changed_.notify_all();
      changed_.wait(lock, [this] { return done_ == requested_; });
      stopped_ = true;
    }
    changed_.notify_all();
    if (copier_.joinable()) copier_.join();
  }

  std::string Folder() override {
    std::error_code ignored;  // Later writes report the error.
    std::filesystem::create_directories(folder_, ignored);
    return folder_;
  }

  void AddScalar(const std::string& tag, int64_t step, double value) override {
    Add([&](EventFile& file) { file.AddScalar(tag, step, value); });
  }

  void AddText(const std::string& tag, int64_t step, const std::string& text) override {
    Add([&](EventFile& file) { file.AddText(tag, step, text); });
  }

  void Upload() override {
    if (!copy_) return Flush();
    {
      std::lock_guard lock(mutex_);
      ++requested_;
      if (!copier_.joinable()) copier_ = std::thread([this] { Copy(); });
    }
    changed_.notify_all();
  }

  void Finish() override {
    Upload();
    std::unique_lock lock(mutex_);
    const int64_t last = urgent_ = requested_;
    changed_.notify_all();
    changed_.wait(lock, [this, last] { return done_ >= last; });
  }

 private:
  template <class Work>
  void Add(const Work& work, bool open = true) {
    std::lock_guard lock(file_mutex_);
    if (broken_ || (!file_ && !open)) return;
    try {
      if (file_ && file_->bytes() > kMaxFileBytes) {
        file_->Flush();
        file_.reset();
      }
      if (!file_ && open) {
        file_.emplace(folder_, now_);
        if (resumed_at_) file_->AddStart(*resumed_at_ + 1);
        resumed_at_.reset();
      }
      if (!file_) return;
      work(*file_);
    } catch (const Error& error) {
      broken_ = true;
      Warn(std::string("stopped writing TensorBoard files of this trial: ") + error.what());
    }
  }

  void Flush() {
    Add([](EventFile& file) { file.Flush(); }, /*open=*/false);
  }

  void Copy() {
    std::unique_lock lock(mutex_);
    bool warned = false;
    while (true) {
      changed_.wait(lock, [this] { return stopped_ || done_ != requested_; });
      if (stopped_) return;
      const int64_t requested = requested_;
      const auto next = std::chrono::steady_clock::now() + kCopyPeriod;
      lock.unlock();
      Flush();
      try {
        copy_(folder_);
      } catch (const std::exception& error) {
        if (!warned) Warn(std::string("cannot copy TensorBoard files: ") + error.what());
        warned = true;
      }
      lock.lock();
      done_ = requested;
      changed_.notify_all();
      changed_.wait_until(lock, next, [this] { return stopped_ || urgent_ > done_; });
    }
  }

  static void Warn(const std::string& text) {
    std::fprintf(stderr, "WARNING: %s\n", text.c_str());
    std::fflush(stderr);
  }

  const std::string folder_;
  const std::function<void(const std::string&)> copy_;
  const WallClock now_;
  std::mutex file_mutex_;
  // Guarded by file_mutex_.
  std::optional<int64_t> resumed_at_;  // until it is written
  std::optional<EventFile> file_;
  bool broken_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  int64_t requested_ = 0;
  int64_t done_ = 0;    // number of uploads requested when the last copy started
  int64_t urgent_ = 0;  // up to this number uploads do not wait for the end of the period
  bool stopped_ = false;
  std::thread copier_;
};

}  // namespace

std::unique_ptr<Tensorboard> MakeTensorboard(std::string folder,
                                             std::function<void(const std::string& folder)> copy,
                                             WallClock now, std::optional<int64_t> resumed_at) {
  return std::make_unique<FolderTensorboard>(std::move(folder), std::move(copy), std::move(now),
                                             resumed_at);
}

std::string TensorboardFolder(const std::string& root, const Ranks& ranks) {
  return root + "/rank-" + std::to_string(ranks.rank);
}

double SecondsNow() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace det::core
