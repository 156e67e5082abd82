#include "agent/journal/journal.h"

#include "base/file.h"
#include <gtest/gtest.h>

namespace det::agent {
namespace {

TEST(Journal, RemembersAcrossProcesses) {
  const base::TempDir dir = *base::TempDir::Create();
  {
    auto journal = Journal::Open(dir.path());
    ASSERT_TRUE(journal.ok()) << journal.status();
    EXPECT_TRUE(journal->entries().empty());
    ASSERT_TRUE(journal->Add(AllocationId("1.1.0"), {42, 7}).ok());
    ASSERT_TRUE(journal->Add(AllocationId("1.2.0"), {43, 8}).ok());
    ASSERT_TRUE(journal->Remove(AllocationId("1.2.0")).ok());
    ASSERT_TRUE(journal->Remove(AllocationId("9.9.0")).ok());
  }
  auto journal = Journal::Open(dir.path());
  ASSERT_TRUE(journal.ok());
  const std::map<AllocationId, Journal::Entry> expected = {{AllocationId("1.1.0"), {42, 7}}};
  EXPECT_EQ(journal->entries(), expected);
  ASSERT_TRUE(journal->Clear().ok());
  EXPECT_TRUE(journal->entries().empty());
}

TEST(Journal, OneAgentPerFolder) {
  const base::TempDir dir = *base::TempDir::Create();
  auto first = Journal::Open(dir.path());
  ASSERT_TRUE(first.ok());
  const auto second = Journal::Open(dir.path());
  EXPECT_TRUE(absl::IsFailedPrecondition(second.status()));
  EXPECT_NE(second.status().message().find("--work-dir"), std::string::npos);
}

TEST(Journal, DamageIsPassedOver) {
  const base::TempDir dir = *base::TempDir::Create();
  ASSERT_TRUE(base::WriteFileAtomically(dir.path() + "/journal",
                                        "garbage\n1.1.0 x 7\n1.2.0 1 7\n1.3.0 44 9\n")
                  .ok());
  auto journal = Journal::Open(dir.path());
  ASSERT_TRUE(journal.ok());
  const std::map<AllocationId, Journal::Entry> expected = {{AllocationId("1.3.0"), {44, 9}}};
  EXPECT_EQ(journal->entries(), expected);
}

}  // namespace
}  // namespace det::agent
