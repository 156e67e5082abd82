// resolute-launch: compiles a user's Trial and runs one process of it per slot, on the cluster as
// the agent's command for `entrypoint: file.cc:Class`, or with --local in a developer's shell.
#include <climits>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "trial_api/cpp/core/environment.h"
#include "trial_api/cpp/core/error.h"
#include "trial_api/cpp/launch/launch.h"
#include "trial_api/cpp/launch/signals.h"

namespace det::launch {
namespace {

constexpr int kWrongUsage = 2;

// This program lies in <SDK>/bin.
std::string OwnSdk() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  return self.parent_path().parent_path().string();
}

// Declares the flags that are handed to the trial as they are.
void AddTrialFlags(CLI::App* app, std::vector<std::string>* arguments) {
  const auto add = [&](const std::string& name, const std::string& what) {
    const auto pass = [name, arguments](const std::vector<std::string>& values) {
      for (const std::string& value : values) arguments->push_back(absl::StrCat(name, "=", value));
      return true;
    };
    app->add_option(name, pass, absl::StrCat("With --local: ", what))
        ->type_size(1)
        ->expected(1, INT_MAX)
        ->allow_extra_args(false)
        ->needs("--local");
  };
  add("--config", "experiment configuration (YAML)");
  add("--hparam", "NAME=VALUE in place of the configuration's; repeatable");
  add("--checkpoint-dir", "where checkpoints go (./checkpoints)");
  add("--restore", "UUID of a checkpoint to start from");
  add("--max-length", "\"3 epochs\", \"500 batches\" or \"10000 records\"");
  add("--seed", "in place of the configuration's");
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("Compiles a Trial and runs it, one process per slot.", "resolute-launch");
  app.add_option("--source", options.source, "C++ file with the Trial")->required();
  app.add_option("--class", options.class_name, "Name of the Trial's class")->required();
  app.add_option("--sdk-dir", options.sdk_dir, "The installed Trial API (default: beside this)");
  app.add_flag("--local", options.local, "Run here, without a cluster");
  app.add_option("--slots", options.slots, "With --local: number of processes")
      ->needs("--local");
  AddTrialFlags(&app, &options.trial_arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : kWrongUsage;
  }
  if (options.slots < 1) {
    std::fprintf(stderr, "ERROR: --slots %d: give a number of processes from 1\n", options.slots);
    return kWrongUsage;
  }
  if (!options.local && !core::OnCluster()) {
    std::fprintf(stderr, "ERROR: not on a cluster: add --local\n");
    return kWrongUsage;
  }
  if (options.sdk_dir.empty()) options.sdk_dir = OwnSdk();
  try {
    Signals signals;
    return options.local ? LaunchLocal(options, signals) : LaunchOnCluster(options, signals);
  } catch (const Stopped& e) {
    return 128 + e.signal();
  } catch (const Error& e) {
    std::fprintf(stderr, "ERROR: %s\n", e.what());
    return 1;
  }
}

}  // namespace
}  // namespace det::launch

int main(int argc, char** argv) { return det::launch::Main(argc, argv); }
