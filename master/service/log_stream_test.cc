#include "master/service/log_stream.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "master/store/fake_store.h"
#include "master/store/testing/make.h"

namespace det::service {
namespace {

constexpr int kLines = 2500;

class LogCursorTest : public testing::Test {
 protected:
  LogCursorTest() {
    std::vector<model::LogLine> lines;
    for (int i = 1; i <= kLines; ++i) {
      lines.push_back(store::MakeLine("1.1", i, absl::StrCat(i)));
      lines.push_back(store::MakeLine("2.2", i, "another's"));
    }
    EXPECT_TRUE(store_.AddLogLines(lines).ok());
    edge_.store = &store_;
  }

  // All lines, of which no portion has more than fits into memory.
  std::vector<std::string> ReadAll(bool descending, int limit) {
    LogQuestion question;
    question.query.task = model::TaskId("1.1");
    question.query.descending = descending;
    question.limit = limit;
    LogCursor cursor(edge_, question);
    std::vector<std::string> texts;
    for (bool last = false; !last;) {
      const absl::StatusOr<LogCursor::Portion> portion = cursor.Next();
      EXPECT_TRUE(portion.ok()) << portion.status();
      if (!portion.ok()) break;
      EXPECT_LE(portion->lines.size(), 1000u);
      for (const store::LogRecord& line : portion->lines) texts.push_back(line.line.text);
      last = portion->last;
    }
    return texts;
  }

  store::FakeStore store_;
  Edge edge_;
};

TEST_F(LogCursorTest, ReadsInPortionsInEitherOrder) {
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

TEST_F(LogCursorTest, GoesOnAfterALine) {
  LogQuestion question;
  question.query.task = model::TaskId("1.1");
  question.query.after_id = LogCursor(edge_, question).Next()->lines[9].id;
  for (const bool descending : {false, true}) {
    question.query.descending = descending;
    size_t count = 0;
    LogCursor cursor(edge_, question);
    for (bool last = false; !last;) {
      const absl::StatusOr<LogCursor::Portion> portion = cursor.Next();
      ASSERT_TRUE(portion.ok()) << portion.status();
      count += portion->lines.size();
      last = portion->last;
    }
    EXPECT_EQ(count, static_cast<size_t>(kLines - 10)) << descending;
  }
}

}  // namespace
}  // namespace det::service
