// Fields of old configurations of Determined, and what to write instead.
#include <algorithm>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "master/parse/read.h"

namespace det::model {
namespace {

struct OldField {
  const char* names;  // the last parts of paths, separated by |
  const char* instead;
  const char* section =
      nullptr;  // only in this section; nullptr: anywhere above the items of lists
};

constexpr OldField kOldFields[] = {
    {"steps|num_steps|max_steps|target_steps|target_trial_steps|min_steps|total_steps",
     "a step was batches_per_step batches (100 by default); write searcher.max_length: {batches: "
     "N} "
     "with all batches"},
    {"batches_per_step|steps_per_batch",
     "lengths are counted in batches, records or epochs: multiply every number of steps with it; "
     "scheduling_unit is the number of batches between two reports of training metrics"},
    {"epochs|num_epochs|max_epochs|total_epochs", "write searcher.max_length: {epochs: N}"},
    {"batches|num_batches|max_batches", "write searcher.max_length: {batches: N}"},
    {"records|num_records|max_records", "write searcher.max_length: {records: N}"},
    {"step_budget|budget",
     "a search has a number of trials, not of steps; write searcher.max_trials, and "
     "searcher.max_length for the longest trial"},
    {"steps_per_round|length_per_round",
     "write searcher.max_length for the whole training; each of the num_generations gets an equal "
     "part"},
    {"num_rounds", "write searcher.num_generations"},
    {"replace_function", "write searcher.replaced_fraction, the former truncate_fraction"},
    {"explore_function", "write resample_probability and perturb_factor directly below searcher"},
    {"train_stragglers", "the search never waits for slow trials; remove it"},
    {"batch_size|global_batch_size", "write hyperparameters.global_batch_size", ""},
    {"validation_freq|validation_period|min_validation_steps",
     "write min_validation_period: {batches: N}"},
    {"checkpoint_freq|checkpoint_period|min_checkpoint_steps",
     "write min_checkpoint_period: {batches: N}"},
    {"entrypoint_script|model_def|trial_class", "write entrypoint"},
    {"gpus|num_gpus|gpus_per_trial|slots", "write resources.slots_per_trial"},
    {"agent_label|label", "write resources.resource_pool", "resources"},
    {"runtime_packages|os_packages|runtime_commands|pip_packages",
     "install packages on the machines of the agents, or in the file startup-hook.sh of the "
     "context "
     "directory",
     "environment"},
    {"hdfs_url|hdfs_path", "HDFS is not supported; use a shared file system or an object store",
     "checkpoint_storage"},
};

}  // namespace

std::string DescribeOldField(std::string_view path) {
  const size_t dot = path.rfind('.');
  const std::string_view name = dot == path.npos ? path : path.substr(dot + 1);
  const std::string_view section = dot == path.npos ? std::string_view() : path.substr(0, dot);
  if (section.find('[') != section.npos) return "";
  for (const OldField& old : kOldFields) {
    if (old.section != nullptr && section != old.section) continue;
    if (IsAmong(old.names, name)) return absl::StrCat("was replaced: ", old.instead);
  }
  return "";
}

}  // namespace det::model
