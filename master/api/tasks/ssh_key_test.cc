#include "master/api/tasks/ssh_key.h"

#include "absl/strings/ascii.h"
#include "base/file.h"
#include "base/subprocess.h"
#include <gtest/gtest.h>

namespace det::api {
namespace {

// OpenSSH derives the public key from the private one.
TEST(SshKeyTest, MakesKeyThatOpenSshReads) {
  const base::TempDir folder = *base::TempDir::Create();
  const std::string path = folder.path() + "/key";
  for (int i = 0; i < 20; ++i) {
    const SshKey key = *MakeSshKey();
    ASSERT_TRUE(base::WriteFile(path, key.private_key, 0600).ok());
    const std::string out = folder.path() + "/public." + std::to_string(i);
    const base::ChildProcess child =
        *base::Spawn({.argv = {"ssh-keygen", "-y", "-f", path}, .out = base::Redirect::File(out)});
    ASSERT_TRUE(base::WaitForExit(child.pid)->ok());
    EXPECT_EQ(absl::StripAsciiWhitespace(*base::ReadFile(out)),
              absl::StripAsciiWhitespace(key.public_key));
  }
}

}  // namespace
}  // namespace det::api
