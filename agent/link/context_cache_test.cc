#include "agent/link/context_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include <gtest/gtest.h>

namespace det::agent {
namespace {

// `printf '%s' a | sha256sum`, and so on.
constexpr char kHashA[] = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb";
constexpr char kHashB[] = "3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d";
constexpr char kHashC[] = "2e7d2c03a9507ae265ecf5b5356885a53393a2029d241394997265a1a25aefc6";

class FakeReader final : public ContextReader {
 public:
  absl::Status ReadContext(const std::string& hash, std::stop_token stop, Sink sink) override {
    ++reads;
    {
      std::unique_lock lock(mutex);
      changed.notify_all();
      if (!opened.wait(lock, stop, [&] { return open; })) return absl::CancelledError("stop");
    }
    if (unavailable > 0) {
      --unavailable;
      return absl::UnavailableError("not now");
    }
    if (hash == kHashA) return sink(wrong ? "x" : "a");
    if (hash == kHashB) return sink("b");
    if (hash == kHashC) return sink("c");
    return absl::NotFoundError("no such context");
  }
  std::atomic<int> reads = 0;
  std::atomic<int> unavailable = 0;
  bool wrong = false;
  std::mutex mutex;
  std::condition_variable changed;
  std::condition_variable_any opened;
  bool open = true;
};

class ContextCacheTest : public testing::Test {
 protected:
  absl::StatusOr<std::string> Get(ContextCache& cache, const std::string& hash,
                                  std::stop_token stop = {}) {
    absl::StatusOr<base::Fd> fd = cache.Open(hash, stop);
    if (!fd.ok()) return fd.status();
    char buffer[16];
    const ssize_t got = ::read(fd->get(), buffer, sizeof(buffer));
    return std::string(buffer, static_cast<size_t>(std::max<ssize_t>(got, 0)));
  }
  std::string GetPath(const char* hash) const {
    return absl::StrCat(dir_.path(), "/", hash, ".tgz");
  }
  // Sets the last use to `seconds` ago.
  void Age(const char* hash, int seconds) {
    const timespec then{::time(nullptr) - seconds, 0};
    const timespec times[2] = {then, then};
    ASSERT_EQ(::utimensat(AT_FDCWD, GetPath(hash).c_str(), times, 0), 0);
  }

  const base::TempDir dir_ = *base::TempDir::Create("det-contexts");
  FakeReader reader_;
};

TEST_F(ContextCacheTest, FetchesArchiveOnce) {
  ContextCache cache(dir_.path(), &reader_);
  EXPECT_EQ(*Get(cache, kHashA), "a");
  EXPECT_EQ(*Get(cache, kHashA), "a");
  EXPECT_EQ(reader_.reads, 1);
  ContextCache next(dir_.path(), &reader_);
  EXPECT_EQ(*Get(next, kHashA), "a");
  EXPECT_EQ(reader_.reads, 1) << "the cache persists";
}

TEST_F(ContextCacheTest, RejectsArchiveWithWrongHash) {
  ContextCache cache(dir_.path(), &reader_);
  reader_.wrong = true;
  EXPECT_TRUE(absl::IsDataLoss(Get(cache, kHashA).status()));
  EXPECT_TRUE(std::filesystem::is_empty(dir_.path())) << "no incomplete archive may remain";
  reader_.wrong = false;
  EXPECT_EQ(*Get(cache, kHashA), "a");
  for (const char* hash : {"", "../../etc/passwd", "abc"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(Get(cache, hash).status())) << hash;
  }
  EXPECT_TRUE(absl::IsNotFound(Get(cache, std::string(64, '0')).status()));
}

TEST_F(ContextCacheTest, RetriesWhileMasterIsUnavailable) {
  ContextCache cache(dir_.path(), &reader_);
  reader_.unavailable = 2;
  EXPECT_EQ(*Get(cache, kHashA), "a");
  EXPECT_EQ(reader_.reads, 3);
}

TEST_F(ContextCacheTest, TasksShareOneDownload) {
  ContextCache cache(dir_.path(), &reader_);
  reader_.open = false;
  std::vector<std::thread> threads;
  std::atomic<int> got = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] { got += Get(cache, kHashA).value_or("") == "a"; });
  }
  {
    std::unique_lock lock(reader_.mutex);
    reader_.changed.wait(lock, [&] { return reader_.reads == 1; });
    reader_.open = true;
  }
  reader_.opened.notify_all();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(got, 4);
  EXPECT_EQ(reader_.reads, 1);
}

TEST_F(ContextCacheTest, StopsWaiting_WhenStopIsRequested) {
  ContextCache cache(dir_.path(), &reader_);
  reader_.open = false;
  std::stop_source stop;
  std::thread first(
      [&] { EXPECT_TRUE(absl::IsCancelled(Get(cache, kHashA, stop.get_token()).status())); });
  {
    std::unique_lock lock(reader_.mutex);
    reader_.changed.wait(lock, [&] { return reader_.reads == 1; });
  }
  std::thread second(
      [&] { EXPECT_TRUE(absl::IsCancelled(Get(cache, kHashA, stop.get_token()).status())); });
  stop.request_stop();
  first.join();
  second.join();
}

TEST_F(ContextCacheTest, RemovesLeastRecentlyUsedArchive) {
  ContextCache cache(dir_.path(), &reader_, /*limit_bytes=*/2);
  ASSERT_TRUE(Get(cache, kHashA).ok());
  ASSERT_TRUE(Get(cache, kHashB).ok());
  Age(kHashA, 100);
  Age(kHashB, 50);
  ASSERT_TRUE(Get(cache, kHashA).ok());  // Marks the archive as recently used.
  ASSERT_TRUE(Get(cache, kHashC).ok());
  EXPECT_TRUE(std::filesystem::exists(GetPath(kHashA)));
  EXPECT_FALSE(std::filesystem::exists(GetPath(kHashB)));
  EXPECT_TRUE(std::filesystem::exists(GetPath(kHashC)));
}

}  // namespace
}  // namespace det::agent
