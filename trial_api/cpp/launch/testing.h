// An SDK without torch for tests, in which a Trial is a class with `int Run(int argc, char**
// argv)`, and a context directory. Used by tests of this directory.
#ifndef TRIAL_API_CPP_LAUNCH_TESTING_H_
#define TRIAL_API_CPP_LAUNCH_TESTING_H_

#include <string>

#include "base/check.h"
#include "base/file.h"

namespace det::launch {

class FakeSdk {
 public:
  FakeSdk() : dir_(*base::TempDir::Create("det-sdk")) {
    Write("sdk/share/version", "1\n");
    Write("sdk/share/compile_flags", "-std=c++20\n-O0\n");
    Write("sdk/share/link_flags", "-Wl,--as-needed\n");
    Write("sdk/share/trial_main.cc",
          "#include \"det/trial.h\"\n#include DET_TRIAL_SOURCE\n"
          "int main(int argc, char** argv) { return DET_TRIAL_CLASS().Run(argc, argv); }\n");
    Write("sdk/include/det/trial.h", "#pragma once\n#include <cstdlib>\n#include <cstdio>\n");
    Write("context/trial.cc",
          "struct MyTrial { int Run(int argc, char**) { return argc + 41; } };\n");
  }

  std::string Path(const std::string& name) const { return dir_.path() + "/" + name; }

  void Write(const std::string& name, const std::string& text, unsigned mode = 0644) const {
    const std::string path = Path(name);
    DET_CHECK_OK(base::MakeDirs(path.substr(0, path.rfind('/'))));
    DET_CHECK_OK(base::WriteFileAtomically(path, text, mode));
  }
  std::string Read(const std::string& name) const {
    const auto text = base::ReadFile(Path(name));
    return text.ok() ? *text : "";
  }

  // A compiler that counts its calls in the file `calls` and creates a program that does nothing.
  std::string CountingCompiler() const {
    Write("compiler",
          "#!/bin/sh\necho call >> " + Path("calls") +
              "\nwhile [ \"$1\" != -o ]; do shift; done\ncp /bin/true \"$2\"\n",
          0755);
    return Path("compiler");
  }

 private:
  const base::TempDir dir_;
};

}  // namespace det::launch

#endif  // TRIAL_API_CPP_LAUNCH_TESTING_H_
