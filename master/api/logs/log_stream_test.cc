#include "master/api/logs/log_stream.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "master/store/testing/fake_store.h"
#include "master/store/testing/make.h"

namespace det::api {
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
  std::vector<std::string> ReadAll(bool descending, int limit, const std::string& pattern = "") {
    LogQuestion question;
    question.query.task = model::TaskId("1.1");
    question.query.descending = descending;
    question.limit = limit;
    question.pattern = pattern;
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

TEST_F(LogCursorTest, GoesBackFromALine) {
  LogQuestion question;
  question.query.task = model::TaskId("1.1");
  question.query.before_id = LogCursor(edge_, question).Next()->lines[9].id;
  question.query.descending = true;
  question.limit = 3;
  LogCursor cursor(edge_, question);
  const absl::StatusOr<LogCursor::Portion> portion = cursor.Next();
  ASSERT_TRUE(portion.ok()) << portion.status();
  ASSERT_EQ(portion->lines.size(), 3u);
  EXPECT_EQ(portion->lines[0].line.text, "9");
  EXPECT_TRUE(portion->last);
}

TEST_F(LogCursorTest, FindsLinesByAPattern) {
  for (const bool descending : {false, true}) {
    // 100, 200, ... 2,500: more than one portion has to be read for the last.
    EXPECT_EQ(ReadAll(descending, 0, "^[0-9]+00$").size(), 25u);
    const std::vector<std::string> some = ReadAll(descending, 12, "00$");
    ASSERT_EQ(some.size(), 12u);
    EXPECT_EQ(some.front(), descending ? "2500" : "100");
    EXPECT_EQ(some.back(), descending ? "1400" : "1200");
    EXPECT_TRUE(ReadAll(descending, 5, "nowhere").empty());
  }
}

TEST_F(LogCursorTest, APatternLeavesNoLineOutThatFits) {
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

TEST_F(LogCursorTest, RefusesWhatIsNoPattern) {
  LogQuestion question;
  question.query.task = model::TaskId("1.1");
  question.pattern = "(";
  const absl::Status status = LogCursor(edge_, question).Next().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("missing )"), std::string::npos) << status;
}

}  // namespace
}  // namespace det::api
