// Rules between fields, which the table does not have.
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "master/core/model/entrypoint.h"
#include "master/parse/read.h"

namespace det::model {
namespace {

namespace fs = std::filesystem;

bool LeavesItsDirectory(const fs::path& relative) {
  const fs::path normal = relative.lexically_normal();
  return normal.is_absolute() || (!normal.empty() && *normal.begin() == "..");
}

class StorageRules {
 public:
  StorageRules(const ConfigNode& root, CheckpointStorageConfig& storage,
               std::vector<Problem>& problems)
      : root_(root), storage_(storage), problems_(problems) {}

  void Check() {
    if (storage_.type == "shared_fs") return CheckSharedFs();
    if (storage_.type == "directory" &&
        root_.FindPath("checkpoint_storage.container_path") != nullptr) {
      CheckAbsolute("container_path", storage_.container_path);
    }
    for (const std::string& part : std::vector<std::string>(absl::StrSplit(storage_.prefix, '/'))) {
      if (part == "..") Add("prefix", "contains \"..\"; use a path without it");
    }
    if (storage_.type == "s3" && storage_.access_key.empty() != storage_.secret_key.empty()) {
      Add(storage_.access_key.empty() ? "secret_key" : "access_key",
          "access_key and secret_key must be set together; set both, or neither to use the "
          "credentials of the machine");
    }
    if (storage_.type != "azure") return;
    if (storage_.connection_string.empty() == storage_.account_url.empty()) {
      Add("", "azure requires exactly one of connection_string and account_url");
    }
    if (!storage_.credential.empty() && storage_.account_url.empty()) {
      Add("credential", "requires account_url, which is missing");
    }
  }

 private:
  void Add(const std::string& member, std::string text) {
    const std::string path = absl::StrCat("checkpoint_storage", member.empty() ? "" : ".", member);
    const ConfigNode* node = root_.FindPath(path);
    problems_.push_back({node == nullptr ? root_.where : node->where, path, std::move(text)});
  }

  void CheckAbsolute(const std::string& member, const std::string& value) {
    if (value.empty()) return Add(member, "required but missing; expected an absolute path");
    if (!fs::path(value).is_absolute()) {
      Add(member, absl::StrCat("\"", value, "\" is a relative path; expected an absolute path"));
    }
  }

  void CheckSharedFs() {
    CheckAbsolute("host_path", storage_.host_path);
    if (!storage_.host_path.starts_with('/') || storage_.storage_path.empty()) return;
    fs::path below = storage_.storage_path;
    if (below.is_absolute()) {
      below = below.lexically_normal().lexically_relative(
          fs::path(storage_.host_path).lexically_normal());
    }
    if (below.empty() || LeavesItsDirectory(below)) {
      return Add("storage_path", absl::StrCat("\"", storage_.storage_path,
                                              "\" is not below host_path ", storage_.host_path));
    }
    below = below.lexically_normal();
    storage_.storage_path = below == "." ? "" : below.string();
  }

  const ConfigNode& root_;
  CheckpointStorageConfig& storage_;
  std::vector<Problem>& problems_;
};

class Rules {
 public:
  Rules(const ConfigNode& root, ExperimentConfig& config, std::vector<Problem>& problems)
      : root_(root), config_(config), problems_(problems) {}

  void Check() {
    CheckVersion();
    CheckEntrypoint();
    CheckLength();
    CheckSearcher();
    if (config_.searcher.name == "grid") CheckGrid("hyperparameters", config_.hyperparameters);
    CheckStorage(root_, config_.checkpoint_storage, problems_);
    CheckTask();
    if (config_.workspace.empty() != config_.project.empty()) {
      Add(config_.workspace.empty() ? "project" : "workspace",
          "workspace and project must be set together; set both or neither");
    }
  }

 private:
  void Add(const std::string& path, std::string text) {
    const ConfigNode* node = root_.FindPath(path);
    problems_.push_back({node == nullptr ? root_.where : node->where, path, std::move(text)});
  }
  bool IsGiven(std::string_view path) const { return root_.FindPath(path) != nullptr; }

  void CheckVersion() {
    const ConfigNode* version = root_.Find("version");
    if (version == nullptr || version->ToValue() == Value(0)) return;
    Add("version", absl::StrCat("expected 0, the only version, found ", version->Describe()));
  }

  void CheckEntrypoint() {
    if (!IsGiven("entrypoint")) return;
    if (const auto* argv = std::get_if<std::vector<std::string>>(&config_.entrypoint)) {
      if (argv->empty() || argv->front().empty()) {
        Add("entrypoint", "is empty; expected a program to run");
      }
      return;
    }
    // A wrong type was reported before.
    if (root_.Find("entrypoint")->AsString() == nullptr) return;
    const std::string& text = std::get<std::string>(config_.entrypoint);
    if (text.find_first_not_of(" \t\r\n") == std::string::npos) {
      return Add("entrypoint", "is empty; expected a command or a Trial class");
    }
    const auto trial = ParseTrialEntrypoint(config_.entrypoint);
    if (trial && LeavesItsDirectory(trial->file)) {
      Add("entrypoint", absl::StrCat("\"", trial->file, "\" is outside of the context directory"));
    }
  }

  // Checks that at most one of max_length and max_time is set.
  void CheckLength() {
    const bool time = IsGiven("searcher.max_time");
    const bool metric = IsGiven("searcher.time_metric");
    if (time && IsGiven("searcher.max_length")) {
      Add("searcher.max_time", "max_length and max_time are exclusive; keep one of them");
    }
    if (time && !metric) {
      Add("searcher.max_time",
          "requires time_metric, the validation metric that measures it, such as epochs");
    }
    if (metric && !time) {
      Add("searcher.time_metric", "requires max_time, which is missing");
    }
    const std::string& name = config_.searcher.name;
    const bool needs =
        IsAmong("asha|async_halving|adaptive_asha|hyperband|pbt", name) && IsGiven("searcher.name");
    if (needs && !time && !IsGiven("searcher.max_length")) {
      Add("searcher", absl::StrCat(name,
                                   " requires a training length: set max_length (Trial classes), "
                                   "or max_time with time_metric (scripts)"));
    }
  }

  void CheckSearcher() {
    SearcherConfig& searcher = config_.searcher;
    if (searcher.source_trial_id && !searcher.source_checkpoint_uuid.empty()) {
      Add("searcher.source_checkpoint_uuid",
          "source_trial_id and source_checkpoint_uuid are exclusive; keep one of them");
    }
    // By default hyperband runs all its brackets.
    if (searcher.name == "hyperband" && !IsGiven("searcher.max_trials")) searcher.max_trials = 0;
    const bool many = IsAmong("single|random|grid|tpe|bayesian|pbt|custom", searcher.name) ||
                      searcher.sampler != "random";
    if (!searcher.other_objectives.empty() && !many) {
      Add("searcher.metric", absl::StrCat(searcher.name,
                                          " supports one metric; several are supported by single, "
                                          "random, grid, tpe, bayesian, pbt, custom, and with the "
                                          "samplers tpe and bayesian"));
    }
  }

  void CheckGrid(const std::string& path, const SearchSpace& space) {
    for (const auto& [name, hparam] : space) {
      const std::string own = absl::StrCat(path, ".", name);
      if (const auto* nested = std::get_if<NestedHparam>(&hparam.kind)) {
        CheckGrid(own, nested->members);
      }
      const auto* i = std::get_if<IntHparam>(&hparam.kind);
      const auto* d = std::get_if<DoubleHparam>(&hparam.kind);
      const auto* l = std::get_if<LogHparam>(&hparam.kind);
      if ((i != nullptr && !i->count) || (d != nullptr && !d->count) ||
          (l != nullptr && !l->count)) {
        Add(own, "the grid searcher requires count, the number of points of this axis");
      }
    }
  }

  // Adds a problem of the i-th item of a list.
  void AddItem(const std::string& list, size_t i, const std::string& member, std::string text) {
    const ConfigNode* node = root_.FindPath(list);
    const bool there = node != nullptr && i < node->items.size();
    problems_.push_back({there ? node->items[i].where : root_.where,
                         absl::StrCat(list, "[", i, "]", member), std::move(text)});
  }

  void CheckSlots(const ResourcesConfig& resources) {
    const int slots = resources.slots_per_trial;
    if (resources.max_slots && *resources.max_slots < slots) {
      const bool elastic = resources.max_slots_per_trial > 0;
      Add("resources.max_slots",
          absl::StrCat(*resources.max_slots, " is less than slots_per_trial",
                       elastic ? ".min " : " ",
                       resources.slot_fraction < 1 ? resources.slot_fraction : slots,
                       "; no trial could start"));
    }
    for (const char* path : {"resources.slot_type", "resources.device"}) {
      const ConfigNode* node = root_.FindPath(path);
      if (slots > 0 || node == nullptr || node->ToValue() == Value("")) continue;
      Add(path, "requires slots, but slots_per_trial is 0; request a slot, or remove it");
    }
    for (size_t i = 0; i < resources.blocked_agents.size(); ++i) {
      if (!resources.blocked_agents[i].empty()) continue;
      AddItem("resources.blocked_agents", i, "", "is empty; expected the id of an agent");
    }
  }

  void CheckTask() {
    const ResourcesConfig& resources = config_.resources;
    CheckSlots(resources);
    for (size_t i = 0; i < resources.devices.size(); ++i) {
      const std::string& mode = resources.devices[i].mode;
      if (!mode.empty() && mode.find_first_not_of("mrw") == std::string::npos) continue;
      AddItem("resources.devices", i, ".mode",
              absl::StrCat("expected any of m, r, w, found \"", mode, "\""));
    }
    for (size_t i = 0; i < config_.bind_mounts.size(); ++i) {
      const BindMountConfig& mount = config_.bind_mounts[i];
      if (!mount.host_path.empty() && !mount.host_path.starts_with('/')) {
        AddItem("bind_mounts", i, ".host_path",
                absl::StrCat("\"", mount.host_path,
                             "\" is a relative path; expected an absolute path"));
      }
      if (mount.container_path == ".") {
        AddItem("bind_mounts", i, ".container_path",
                "\".\" would hide the experiment's working directory; use another path");
      }
    }
    std::set<std::string> names;
    for (size_t i = 0; i < config_.log_policies.size(); ++i) {
      const std::string& name = config_.log_policies[i].name;
      if (name.empty() || names.insert(name).second) continue;
      AddItem("log_policies", i, ".name", absl::StrCat("duplicate name \"", name, "\""));
    }
    const ProfilingConfig& profiling = config_.profiling;
    if (profiling.end_after_batch && *profiling.end_after_batch < profiling.begin_on_batch) {
      Add("profiling.end_after_batch",
          absl::StrCat(*profiling.end_after_batch, " is less than begin_on_batch ",
                       profiling.begin_on_batch));
    }
  }

  const ConfigNode& root_;
  ExperimentConfig& config_;
  std::vector<Problem>& problems_;
};

}  // namespace

void CheckStorage(const ConfigNode& root, CheckpointStorageConfig& storage,
                  std::vector<Problem>& problems) {
  StorageRules(root, storage, problems).Check();
}

void CheckRules(const ConfigNode& root, ExperimentConfig& config, std::vector<Problem>& problems) {
  Rules(root, config, problems).Check();
}

}  // namespace det::model
