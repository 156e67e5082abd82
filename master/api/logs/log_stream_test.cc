#include "master/api/logs/log_stream.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "master/store/testing/fake_store.h"
#include "master/store/testing/make_rows.h"

namespace det::api {
namespace {

constexpr int kLines = 2500;

class LogCursorTest : public testing::Test {
 protected:
  LogCursorTest() {
    std::vector<model::LogLine> lines;
    for (int i = 1; i <= kLines; ++i) {
      lines.push_back(store::MakeLine("1.1", i, absl::StrCat(i)));
      lines.push_back(store::MakeLine("2.2", i, "line of another task"));
    }
    EXPECT_TRUE(store_.AddLogLines(lines).ok());
  }

  // Reads all lines and checks the size of each page.
  std::vector<std::string> ReadAll(bool descending, int limit, const std::string& pattern = "") {
    LogStreamOptions options;
    options.query.task = model::TaskId("1.1");
    options.query.descending = descending;
    options.limit = limit;
    options.pattern = pattern;
    LogCursor cursor(store_, options);
    std::vector<std::string> texts;
    for (bool last = false; !last;) {
      const absl::StatusOr<LogCursor::Page> page = cursor.Next();
      EXPECT_TRUE(page.ok()) << page.status();
      if (!page.ok()) break;
      EXPECT_LE(page->lines.size(), 1000u);
      for (const store::LogRecord& line : page->lines) texts.push_back(line.line.text);
      last = page->last;
    }
    return texts;
  }

  store::FakeStore store_;
};

TEST_F(LogCursorTest, ReadsPagesInBothOrders) {
  for (const int limit : {0, 1, 999, 1000, 1001, 2000, kLines, 2'000'000'000}) {
    const int count = limit == 0 ? kLines : std::min(limit, kLines);
    const std::vector<std::string> up = ReadAll(/*descending=*/false, limit);
    const std::vector<std::string> down = ReadAll(/*descending=*/true, limit);
    ASSERT_EQ(up.size(), static_cast<size_t>(count)) << limit;
    ASSERT_EQ(down.size(), static_cast<size_t>(count)) << limit;
    for (int i = 0; i < count; ++i) {
      EXPECT_EQ(up[i], absl::StrCat(i + 1));
      EXPECT_EQ(down[i], absl::StrCat(kLines - i));
    }
  }
}

TEST_F(LogCursorTest, ContinuesAfterLine) {
  LogStreamOptions options;
  options.query.task = model::TaskId("1.1");
  options.query.after_id = LogCursor(store_, options).Next()->lines[9].id;
  for (const bool descending : {false, true}) {
    options.query.descending = descending;
    size_t count = 0;
    LogCursor cursor(store_, options);
    for (bool last = false; !last;) {
      const absl::StatusOr<LogCursor::Page> page = cursor.Next();
      ASSERT_TRUE(page.ok()) << page.status();
      count += page->lines.size();
      last = page->last;
    }
    EXPECT_EQ(count, static_cast<size_t>(kLines - 10)) << descending;
  }
}

TEST_F(LogCursorTest, ReadsBackwardsFromLine) {
  LogStreamOptions options;
  options.query.task = model::TaskId("1.1");
  options.query.before_id = LogCursor(store_, options).Next()->lines[9].id;
  options.query.descending = true;
  options.limit = 3;
  LogCursor cursor(store_, options);
  const absl::StatusOr<LogCursor::Page> page = cursor.Next();
  ASSERT_TRUE(page.ok()) << page.status();
  ASSERT_EQ(page->lines.size(), 3u);
  EXPECT_EQ(page->lines[0].line.text, "9");
  EXPECT_TRUE(page->last);
}

TEST_F(LogCursorTest, FindsLinesByPattern) {
  for (const bool descending : {false, true}) {
    // 100, 200, ... 2,500: the last match is not on the first page.
    EXPECT_EQ(ReadAll(descending, 0, "^[0-9]+00$").size(), 25u);
    const std::vector<std::string> some = ReadAll(descending, 12, "00$");
    ASSERT_EQ(some.size(), 12u);
    EXPECT_EQ(some.front(), descending ? "2500" : "100");
    EXPECT_EQ(some.back(), descending ? "1400" : "1200");
    EXPECT_TRUE(ReadAll(descending, 5, "nowhere").empty());
  }
}

TEST_F(LogCursorTest, FindsAllLinesThatMatchPattern) {
  ASSERT_TRUE(store_
                  .AddLogLines({store::MakeLine("1.1", kLines + 1, "Loss: 0.5 after 10 batches"),
                                store::MakeLine("1.1", kLines + 2, "loss: nan"),
                                store::MakeLine("1.1", kLines + 3, "größe 7")})
                  .ok());
  const auto found = [this](const std::string& pattern) {
    return ReadAll(/*descending=*/false, 0, pattern).size();
  };
  EXPECT_EQ(found("Loss: [0-9.]+ after"), 1u);
  EXPECT_EQ(found("(?i)LOSS"), 2u);
  EXPECT_EQ(found("oss: (nan|[0-9.]+ after)"), 2u);
  EXPECT_EQ(found("(nan|after|größe)"), 3u);
  EXPECT_EQ(found("(?i)GRÖSSE|GRÖßE"), 1u);
  EXPECT_EQ(found("batches$"), 1u);
  EXPECT_EQ(found("^(Loss)?.*7$"), 251u);
  EXPECT_EQ(found("(loss: )(.*)(0.5 )?"), 1u);
}

TEST_F(LogCursorTest, RejectsInvalidPattern) {
  LogStreamOptions options;
  options.query.task = model::TaskId("1.1");
  options.pattern = "(";
  const absl::Status status = LogCursor(store_, options).Next().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("missing )"), std::string::npos) << status;
}

}  // namespace
}  // namespace det::api
