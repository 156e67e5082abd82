#include "trial_api/cpp/launch/compile.h"

#include <sys/wait.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "trial_api/cpp/core/testing.h"
#include "trial_api/cpp/launch/testing.h"

namespace det::launch {
namespace {

class CompileTest : public testing::Test {
 protected:
  CompileRequest Request() const {
    CompileRequest request;
    request.context_dir = sdk_.Path("context");
    request.source = "trial.cc";
    request.class_name = "MyTrial";
    request.sdk_dir = sdk_.Path("sdk");
    request.cache_dir = sdk_.Path("cache");
    return request;
  }

  // Returns the message of InvalidCode; the compiler's output is in `output_`.
  std::string Refusal(const CompileRequest& request) {
    testing::internal::CaptureStderr();
    std::string message = "no error";
    try {
      Compile(request, signals_);
    } catch (const InvalidCode& e) {
      message = e.what();
    }
    output_ = testing::internal::GetCapturedStderr();
    return message;
  }

  FakeSdk sdk_;
  Signals signals_;
  std::string output_;
};

void ExpectContains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST_F(CompileTest, CompilesProgramThatRunsClass) {
  const std::string program = Compile(Request(), signals_);
  const int status = std::system((program + " x").c_str());
  EXPECT_EQ(WEXITSTATUS(status), 43);
}

TEST_F(CompileTest, FindsHeadersNextToSource) {
  sdk_.Write("context/src/trial.cc",
             "#include \"near.h\"\n#include \"far/far.h\"\n"
             "namespace a { struct T { int Run(int, char**) { return kNear + kFar; } }; }\n");
  sdk_.Write("context/src/near.h", "constexpr int kNear = 3;\n");
  sdk_.Write("context/far/far.h", "constexpr int kFar = 4;\n");
  CompileRequest request = Request();
  request.source = "src/trial.cc";
  request.class_name = "a::T";
  EXPECT_EQ(WEXITSTATUS(std::system(Compile(request, signals_).c_str())), 7);
}

TEST_F(CompileTest, UsesCachedProgram) {
  CompileRequest request = Request();
  request.compiler = sdk_.CountingCompiler();
  const std::string program = Compile(request, signals_);
  EXPECT_EQ(Compile(request, signals_), program);
  EXPECT_EQ(sdk_.Read("calls"), "call\n");
}

TEST_F(CompileTest, CompilesOnce_WhenCalledConcurrently) {
  CompileRequest request = Request();
  request.compiler = sdk_.CountingCompiler();
  const auto compile = [&](const Ranks&) { return Compile(request, signals_).empty() ? 1 : 0; };
  EXPECT_EQ(core::RunRanks(4, compile), std::vector<int>(4, 0));
  EXPECT_EQ(sdk_.Read("calls"), "call\n");
}

TEST_F(CompileTest, KeyDependsOnContent) {
  const std::string key = CacheKey(Request());
  sdk_.Write("context/config.yaml", "name: x\n");
  sdk_.Write("context/.git/hook.cc", "x");
  EXPECT_EQ(CacheKey(Request()), key);
  const auto changes = [&](const std::string& file, const std::string& text) {
    const std::string before = sdk_.Read(file);
    sdk_.Write(file, text);
    EXPECT_NE(CacheKey(Request()), key) << file;
    sdk_.Write(file, before);
  };
  changes("context/trial.cc", "// other\n");
  changes("context/folder/header.h", "// other\n");
  changes("sdk/share/version", "2\n");
  changes("sdk/share/compile_flags", "-O1\n");
  CompileRequest other = Request();
  other.class_name = "Other";
  EXPECT_NE(CacheKey(other), CacheKey(Request()));
  other = Request();
  other.more_link_flags = "-lm";
  EXPECT_NE(CacheKey(other), CacheKey(Request()));
}

TEST_F(CompileTest, ThrowsInvalidCodeWithCompilerError) {
  sdk_.Write("context/trial.cc", "struct MyTrial {\n  int Run(int, char**) { return x; }\n};\n");
  const std::string message = Refusal(Request());
  ExpectContains(message, "trial.cc cannot be compiled");
  ExpectContains(message, "trial.cc:2:");
  ExpectContains(message, "'x' was not declared");
  ExpectContains(output_, "error: 'x' was not declared");
  // The second attempt fails in the same way.
  ExpectContains(Refusal(Request()), "'x' was not declared");
}

TEST_F(CompileTest, NamesMissingClass) {
  CompileRequest request = Request();
  request.class_name = "Absent";
  const std::string message = "class Absent is not defined in trial.cc";
  EXPECT_EQ(Refusal(request), message + "; check `entrypoint: trial.cc:Absent`");
  // Printed before the compiler's output.
  EXPECT_EQ(output_.find("INFO: compiling trial.cc\nERROR: " + message + "\n"), 0u) << output_;
  ExpectContains(output_, "error: 'Absent' was not declared");
  request.class_name = "a::Absent";
  ExpectContains(Refusal(request), "class a::Absent is not defined");
  sdk_.Write("context/trial.cc", "namespace a { struct Other {}; }\n");
  ExpectContains(Refusal(request), "class a::Absent is not defined");
}

TEST_F(CompileTest, ReportsFirstErrorBeforeMissingClass) {
  sdk_.Write("context/trial.cc", "int x = y;\n");
  const std::string message = Refusal(Request());
  ExpectContains(message, "trial.cc:1:9: error: 'y' was not declared");
  EXPECT_EQ(output_.find("is not defined in"), std::string::npos) << output_;
}

TEST_F(CompileTest, CompilesSourcesOfIncludedHeaders) {
  sdk_.Write("context/trial.cc",
             "#include \"net.h\"\nstruct MyTrial { int Run(int, char**) { return Net(); } };\n");
  sdk_.Write("context/net.h", "#pragma once\nint Net();\n");
  sdk_.Write("context/net.cc",
             "#include \"net.h\"\n#include \"layers/layer.h\"\n"
             "int Net() { return Layer() + 1; }\n");
  sdk_.Write("context/layers/layer.h", "int Layer();\n");
  sdk_.Write("context/layers/layer.cc", "int Layer() { return 6; }\n");
  // Its header is not included, and it would not compile.
  sdk_.Write("context/tool.cc", "int main() { return nonsense; }\n");
  const std::string program = Compile(Request(), signals_);
  EXPECT_EQ(WEXITSTATUS(std::system(program.c_str())), 7);
  // The content of each source is part of the key.
  sdk_.Write("context/layers/layer.cc", "int Layer() { return 7; }\n");
  const std::string changed = Compile(Request(), signals_);
  EXPECT_NE(changed, program);
  EXPECT_EQ(WEXITSTATUS(std::system(changed.c_str())), 8);
}

TEST_F(CompileTest, ThrowsInvalidCode_ForErrorInPairedSource) {
  sdk_.Write("context/trial.cc",
             "#include \"net.h\"\n"
             "struct MyTrial { int Run(int, char**) { return Net(); } };\n");
  sdk_.Write("context/net.h", "int Net();\n");
  sdk_.Write("context/net.cc", "int Net() { return x; }\n");
  ExpectContains(Refusal(Request()), "net.cc:1:20: error: 'x' was not declared");
}

TEST_F(CompileTest, NamesMissingSource) {
  CompileRequest request = Request();
  request.source = "absent.cc";
  ExpectContains(Refusal(request), "file absent.cc does not exist");
}

TEST_F(CompileTest, ThrowsInvalidCode_ForUnresolvedFunction) {
  sdk_.Write("context/trial.cc",
             "int f();\nstruct MyTrial { int Run(int, char**) { return f(); } };\n");
  ExpectContains(Refusal(Request()), "undefined reference to `f()'");
}

TEST_F(CompileTest, ThrowsError_WhenCompilerIsMissing) {
  CompileRequest request = Request();
  request.compiler = "/no/such/compiler";
  try {
    Compile(request, signals_);
    FAIL();
  } catch (const InvalidCode& e) {
    FAIL() << e.what();
  } catch (const Error& e) {
    ExpectContains(e.what(), "/no/such/compiler");
  }
}

TEST(FirstErrorTest, SkipsWarningsAndNotes) {
  EXPECT_EQ(FirstError("In file included from a\n./t.cc:1:2: warning: x\n./t.cc:3:4: error: y\n"),
            "t.cc:3:4: error: y");
  EXPECT_EQ(FirstError("warning: x\n"), "");
}

}  // namespace
}  // namespace det::launch
