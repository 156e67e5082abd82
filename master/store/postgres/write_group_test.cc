#include "master/store/postgres/write_group.h"

#include <future>
#include <latch>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace det::store {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

// Writes rows and waits for the result.
template <class Row>
absl::Status Write(WriteGroup<Row>& group, std::vector<Row> rows) {
  std::promise<absl::Status> result;
  group.Write(std::move(rows), [&result](absl::Status status) { result.set_value(status); });
  return result.get_future().get();
}

TEST(WriteGroupTest, WritesSingleCallerAlone) {
  std::vector<size_t> sizes;
  WriteGroup<int> group(10, [&](const WriteGroup<int>::Rows& rows) {
    sizes.push_back(rows.size());
    return absl::OkStatus();
  });
  EXPECT_TRUE(Write(group, {1, 2, 3}).ok());
  EXPECT_TRUE(Write(group, {}).ok());
  EXPECT_TRUE(Write(group, std::vector<int>(25)).ok());
  EXPECT_THAT(sizes, ElementsAre(3, 25));
}

TEST(WriteGroupTest, ReportsFailureToEveryCaller) {
  int calls = 0;
  WriteGroup<int> group(10, [&](const WriteGroup<int>::Rows&) {
    return ++calls == 1 ? absl::UnavailableError("away") : absl::OkStatus();
  });
  EXPECT_TRUE(absl::IsUnavailable(Write(group, {1})));
  EXPECT_TRUE(Write(group, {1}).ok());
}

TEST(WriteGroupTest, GroupsWaitingCallers) {
  std::promise<void> first_is_in;
  std::promise<void> let_first_go;
  std::vector<std::vector<int>> writes;
  WriteGroup<int> group(1000, [&](const WriteGroup<int>::Rows& rows) {
    std::vector<int> values;
    for (const int* row : rows) values.push_back(*row);
    writes.push_back(values);
    if (writes.size() == 1) {
      first_is_in.set_value();
      let_first_go.get_future().wait();
    }
    return absl::OkStatus();
  });
  std::latch written(5);
  const auto written_ok = [&](const absl::Status& status) {
    EXPECT_TRUE(status.ok());
    written.count_down();
  };
  group.Write({0}, written_ok);
  first_is_in.get_future().wait();
  for (int i = 1; i <= 4; ++i) group.Write({i, i}, written_ok);
  let_first_go.set_value();
  written.wait();
  EXPECT_THAT(writes, SizeIs(2));
  // All rows were written once, and the pairs of each caller are adjacent.
  std::vector<int> all;
  for (const auto& write : writes) {
    if (&write == &writes[0]) continue;
    for (size_t i = 0; i < write.size(); i += 2) {
      EXPECT_EQ(write[i], write[i + 1]);
      all.push_back(write[i]);
    }
  }
  EXPECT_THAT(all, ::testing::UnorderedElementsAre(1, 2, 3, 4));
}

TEST(WriteGroupTest, WritesWaitingRowsBeforeItEnds) {
  std::promise<void> let_first_go;
  int rows_seen = 0;
  int done = 0;
  {
    WriteGroup<int> group(1, [&](const WriteGroup<int>::Rows& rows) {
      if (rows_seen == 0) let_first_go.get_future().wait();
      rows_seen += static_cast<int>(rows.size());
      return absl::OkStatus();
    });
    for (int i = 0; i < 3; ++i) group.Write({i}, [&](const absl::Status&) { ++done; });
    let_first_go.set_value();
  }
  EXPECT_EQ(rows_seen, 3);
  EXPECT_EQ(done, 3);
}

TEST(WriteGroupTest, LimitsRowsPerWrite) {
  constexpr int kThreads = 8;
  std::latch start(kThreads);
  size_t rows_seen = 0;
  WriteGroup<std::string> group(4, [&](const WriteGroup<std::string>::Rows& rows) {
    EXPECT_LE(rows.size(), 4u);
    rows_seen += rows.size();
    return absl::OkStatus();
  });
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      start.arrive_and_wait();
      for (int n = 0; n < 50; ++n) EXPECT_TRUE(Write(group, {"a", "b", "c"}).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(rows_seen, size_t{kThreads} * 50 * 3);
}

}  // namespace
}  // namespace det::store
