#include "trial_api/cpp/launch/sources.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "trial_api/cpp/launch/testing.h"

namespace det::launch {
namespace {

using Paths = std::vector<std::string>;

class SourcesTest : public testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) const {
    sdk_.Write("context/" + path, text);
  }
  Paths Paired(const std::string& source = "trial.cc") const {
    return PairedSources(sdk_.Path("context"), source);
  }

  const FakeSdk sdk_;
};

TEST_F(SourcesTest, FindsNothing_ForSingleFile) {
  Write("other.cc", "");
  Write("other.h", "");
  EXPECT_EQ(Paired(), Paths());
}

TEST_F(SourcesTest, FollowsHeaders) {
  Write("trial.cc", "  #  include \"a.h\" // why\n");
  Write("a.h", "#include \"deep/b.hpp\"\n");  // has no source of its own
  Write("deep/b.hpp", "#include \"c.h\"\n#include \"a.h\"\n");
  Write("deep/b.cpp", "#include \"deep/d.h\"\n");  // from the top
  Write("deep/c.h", "");
  Write("deep/c.cc", "");
  Write("deep/d.h", "");
  Write("deep/d.c", "");
  EXPECT_EQ(Paired(), (Paths{"deep/b.cpp", "deep/c.cc", "deep/d.c"}));
}

TEST_F(SourcesTest, FindsSourcesInSubdirectory) {
  Write("src/trial.cc", "#include \"net.h\"\n");
  Write("src/net.h", "");
  Write("src/net.cc", "");
  EXPECT_EQ(Paired("src/trial.cc"), Paths{"src/net.cc"});
}

TEST_F(SourcesTest, DoesNotCompileIncludedSources) {
  Write("trial.cc", "#include \"net.h\"\n#include \"net.cc\"\n");
  Write("net.h", "");
  Write("net.cc", "#include \"net.h\"\n");
  EXPECT_EQ(Paired(), Paths());
}

TEST_F(SourcesTest, DoesNotPairEntrypointWithItself) {
  Write("trial.h", "");
  Write("trial.cc", "#include \"trial.h\"\n");
  EXPECT_EQ(Paired(), Paths());
}

TEST_F(SourcesTest, IgnoresFilesOutsideContext) {
  sdk_.Write("outside.h", "");
  sdk_.Write("outside.cc", "");
  Write("trial.cc", "#include \"../outside.h\"\n#include <vector>\n#include \"" +
                        sdk_.Path("outside.h") + "\"\n#include \"det/trial.h\"\n");
  EXPECT_EQ(Paired(), Paths());
}

}  // namespace
}  // namespace det::launch
