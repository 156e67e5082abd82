#include "master/model/parse/parse.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "master/model/entrypoint.h"
#include "master/model/parse/config_node.h"
#include "master/model/parse/fields.h"

namespace det::model {
namespace {

namespace fs = std::filesystem;

bool LeavesItsDirectory(const fs::path& relative) {
  const fs::path normal = relative.lexically_normal();
  return normal.is_absolute() || (!normal.empty() && *normal.begin() == "..");
}

// What the table cannot say: rules between fields.
class Rules {
 public:
  Rules(const ConfigNode& root, ExperimentConfig& config, std::vector<Problem>& problems)
      : root_(root), config_(config), problems_(problems) {}

  void Check() {
    CheckEntrypoint();
    CheckStorage();
    if (config_.workspace.empty() != config_.project.empty()) {
      Add(config_.workspace.empty() ? "project" : "workspace",
          "workspace and project go together; give both or neither");
    }
    const ResourcesConfig& resources = config_.resources;
    if (resources.max_slots && *resources.max_slots < resources.slots_per_trial) {
      Add("resources.max_slots",
          absl::StrCat(*resources.max_slots, " is less than slots_per_trial ",
                       resources.slots_per_trial, "; no trial could ever start"));
    }
  }

 private:
  void Add(const std::string& path, std::string text) {
    const ConfigNode* node = root_.FindPath(path);
    problems_.push_back({node == nullptr ? root_.where : node->where, path, std::move(text)});
  }

  void CheckEntrypoint() {
    if (root_.Find("entrypoint") == nullptr) return;
    if (const auto* argv = std::get_if<std::vector<std::string>>(&config_.entrypoint)) {
      if (argv->empty() || argv->front().empty()) Add("entrypoint", "names no program to run");
      return;
    }
    // Of a wrong type: said already.
    if (root_.Find("entrypoint")->AsString() == nullptr) return;
    const std::string& text = std::get<std::string>(config_.entrypoint);
    if (text.find_first_not_of(" \t\r\n") == std::string::npos) {
      return Add("entrypoint", "names nothing to run");
    }
    if (IsPythonEntrypoint(config_.entrypoint)) {
      return Add("entrypoint", absl::StrCat("\"", text,
                                            "\" names a Python class, which is not "
                                            "supported yet; name a C++ one (file.cc:Class), or "
                                            "write the command that runs it"));
    }
    const auto trial = ParseTrialEntrypoint(config_.entrypoint);
    if (trial && LeavesItsDirectory(trial->file)) {
      Add("entrypoint", absl::StrCat("\"", trial->file, "\" leaves the context directory"));
    }
  }

  void CheckStorage() {
    CheckpointStorageConfig& storage = config_.checkpoint_storage;
    const std::string host_path = "checkpoint_storage.host_path";
    if (storage.host_path.empty()) return Add(host_path, "required; an absolute path");
    if (!fs::path(storage.host_path).is_absolute()) {
      return Add(host_path,
                 absl::StrCat("\"", storage.host_path, "\" is relative; start it with /"));
    }
    if (storage.storage_path.empty()) return;
    fs::path below = storage.storage_path;
    if (below.is_absolute()) {
      below = below.lexically_normal().lexically_relative(
          fs::path(storage.host_path).lexically_normal());
    }
    if (below.empty() || LeavesItsDirectory(below)) {
      return Add(
          "checkpoint_storage.storage_path",
          absl::StrCat("\"", storage.storage_path, "\" leaves host_path ", storage.host_path));
    }
    below = below.lexically_normal();
    storage.storage_path = below == "." ? "" : below.string();
  }

  const ConfigNode& root_;
  ExperimentConfig& config_;
  std::vector<Problem>& problems_;
};

// The line of "const.yaml:12"; 0 where it has none.
int LineOf(const std::string& where) {
  int line = 0;
  const size_t colon = where.rfind(':');
  if (colon == std::string::npos || !absl::SimpleAtoi(where.substr(colon + 1), &line)) return 0;
  return line;
}

absl::Status ToStatus(std::vector<Problem> problems) {
  if (problems.empty()) return absl::OkStatus();
  std::stable_sort(problems.begin(), problems.end(), [](const Problem& a, const Problem& b) {
    return LineOf(a.where) < LineOf(b.where);
  });
  const auto write = [](std::string* out, const Problem& problem) {
    absl::StrAppend(out, problem.where, ": ", problem.path, ": ", problem.text);
  };
  return absl::InvalidArgumentError(absl::StrJoin(problems, "\n", write));
}

absl::StatusOr<ExperimentConfig> FromTree(ConfigNode root, const std::string& source,
                                          const ConfigDefaults& defaults) {
  // What concerns the whole text is said without a line.
  root.where = source;
  if (root.is_null()) {
    return absl::InvalidArgumentError(
        absl::StrCat(source, ": is empty; it needs at least entrypoint and searcher"));
  }
  if (!root.is_map()) {
    return absl::InvalidArgumentError(absl::StrCat(
        source, ": expected a map such as \"searcher: {name: single}\", found ", root.Describe()));
  }
  ExperimentConfig config;
  config.name = defaults.name;
  config.checkpoint_storage.host_path = defaults.checkpoint_host_path;
  config.experiment_seed = defaults.experiment_seed;
  std::vector<Problem> problems;
  ReadFields(root, config, problems);
  Rules(root, config, problems).Check();
  DET_RETURN_IF_ERROR(ToStatus(std::move(problems)));
  return config;
}

}  // namespace

absl::StatusOr<ExperimentConfig> ParseExperimentConfig(std::string_view yaml,
                                                       const std::string& path,
                                                       const std::vector<std::string>& overrides,
                                                       const ConfigDefaults& defaults) {
  const std::string source = path.empty() ? "configuration" : path;
  DET_ASSIGN_OR_RETURN(ConfigNode root, ReadYaml(yaml, source, true));
  for (const std::string& text : overrides) DET_RETURN_IF_ERROR(ApplyOverride(text, root));
  return FromTree(std::move(root), source, defaults);
}

std::string LocateInConfig(std::string_view yaml, const std::string& path,
                           std::string_view member) {
  const std::string source = path.empty() ? "configuration" : path;
  const absl::StatusOr<ConfigNode> root = ReadYaml(yaml, source, true);
  const ConfigNode* node = root.ok() ? root->FindPath(member) : nullptr;
  return node == nullptr ? source : node->where;
}

absl::StatusOr<ExperimentConfig> ExperimentConfigFromJson(std::string_view json) {
  DET_ASSIGN_OR_RETURN(const Value value, Value::FromJson(json));
  const std::string source = "configuration";
  return FromTree(FromValue(value, source), source, ConfigDefaults{});
}

}  // namespace det::model
