#include "cli/trial_python.h"

#include <stdlib.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace det::cli {
namespace {

using ::testing::HasSubstr;

// Puts a script first on PATH as python3.
void PutPythonFirst(const base::TempDir& dir, const std::string& script) {
  ASSERT_TRUE(
      base::WriteFileAtomically(dir.path() + "/python3", "#!/bin/sh\n" + script, 0755).ok());
  ASSERT_EQ(setenv("PATH", absl::StrCat(dir.path(), ":/usr/bin:/bin").c_str(), 1), 0);
}

TEST(TrialPythonTest, ReturnsTheSentenceOfPython) {
  const base::TempDir dir = *base::TempDir::Create();
  PutPythonFirst(dir, "echo /opt/python3 is used\n");
  EXPECT_EQ(*DescribeTrialPython(), "/opt/python3 is used");
  PutPythonFirst(dir, "echo python3 has no module torch; exit 1\n");
  EXPECT_EQ(DescribeTrialPython().status(), absl::NotFoundError("python3 has no module torch"));
}

TEST(TrialPythonTest, StopsTheSearch_WhenItTakesTooLong) {
  const base::TempDir dir = *base::TempDir::Create();
  // A child that keeps the pipe open is killed too.
  PutPythonFirst(dir, "sleep 600 & wait\n");
  const absl::Time start = absl::Now();
  const absl::Status status = DescribeTrialPython(absl::Milliseconds(100)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(status.message()), HasSubstr("took longer than 100ms"));
  EXPECT_LT(absl::Now() - start, absl::Seconds(60));
}

}  // namespace
}  // namespace det::cli
