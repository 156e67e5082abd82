// det job list|update|update-batch
#include "cli/commands/job.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/commands/paging.h"
#include "cli/format.h"
#include "cli/table.h"
#include "det/api/v1/job.pb.h"
#include "det/api/v1/resource_pool.pb.h"

namespace det::cli {
namespace {

constexpr int kAllJobs = 1'000'000;  // without a limit, the master returns 100

using api::v1::Job;
using api::v1::JobSummary;
using api::v1::QueueControl;
using api::v1::ResourcePool;

using Policies = std::map<std::string, ResourcePool::SchedulerType>;  // by pool

bool IsFair(const Policies& policies, const std::string& pool) {
  const auto found = policies.find(pool);
  return found != policies.end() && found->second == ResourcePool::SCHEDULER_TYPE_FAIR_SHARE;
}

// Returns the column title for the order of the pools: priority or weight.
std::string OrderTitle(const Policies& policies) {
  std::set<bool> fair;
  for (const auto& [pool, unused] : policies) fair.insert(IsFair(policies, pool));
  if (fair.size() == 2) return "PRIORITY|WEIGHT";
  return fair.contains(true) ? "WEIGHT" : "PRIORITY";
}

std::string GetType(const Job& job) {
  absl::string_view name = Job::Type_Name(job.type());
  absl::ConsumePrefix(&name, "TYPE_");
  return absl::AsciiStrToLower(name);
}

Cell MakeJobStateCell(const Job& job) {
  const std::string& name = JobSummary::State_Name(job.summary().state());
  const absl::string_view word = TrimStatePrefix(name);
  if (job.summary().state() == JobSummary::STATE_QUEUED) return MakeStateCell(name);
  return Cell(absl::StrCat("● ", word), Paint::kRunning, word);
}

Table JobTable(const google::protobuf::RepeatedPtrField<Job>& jobs, const Policies& policies) {
  Table table({{"#", true},
               {"ID"},
               {"TYPE"},
               {"JOB NAME", false, true},
               {OrderTitle(policies), true},
               {"SUBMITTED"},
               {"SLOTS", true},
               {"STATE"},
               {"USER", false, true},
               {"POOL"},
               {"WAIT REASON", false, true}});
  for (const Job& job : jobs) {
    const int ahead = job.summary().jobs_ahead();
    table.AddRow({ahead < 0 ? "-" : absl::StrCat(ahead), job.job_id(), GetType(job), job.name(),
                  IsFair(policies, job.resource_pool()) ? FormatPlainNumber(job.weight())
                                                        : absl::StrCat(job.priority()),
                  MakeAgeCell(job.submission_time(), absl::Now()),
                  absl::StrCat(job.allocated_slots(), "/", job.requested_slots()),
                  MakeJobStateCell(job), job.username(), job.resource_pool(), job.reason()});
  }
  return table;
}

absl::StatusOr<int> RunJobList(Invocation& run) {
  DET_ASSIGN_OR_RETURN(const Page page, ReadPage(run));
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::GetResourcePoolsResponse pools;
  DET_RETURN_IF_ERROR(api->Call("ResourcePoolService.GetResourcePools",
                                api::v1::GetResourcePoolsRequest(), &pools));
  std::vector<std::string> names = run.args.GetAll("pool");
  const bool all = names.empty();
  Policies policies;
  for (const ResourcePool& pool : pools.resource_pools()) {
    if (all) names.push_back(pool.name());
    policies[pool.name()] = pool.scheduler_type();
  }
  std::erase_if(policies, [&](const auto& entry) {
    return std::find(names.begin(), names.end(), entry.first) == names.end();
  });
  api::v1::GetJobsResponse merged;
  for (const std::string& name : names) {
    api::v1::GetJobsRequest request;
    request.set_resource_pool(name);
    request.set_limit(kAllJobs);
    api::v1::GetJobsResponse response;
    DET_RETURN_IF_ERROR(api->Call("JobService.GetJobs", request, &response));
    merged.mutable_jobs()->MergeFrom(response.jobs());
  }
  auto& jobs = *merged.mutable_jobs();
  merged.mutable_pagination()->set_total(jobs.size());
  if (run.args.Has("reverse")) std::reverse(jobs.pointer_begin(), jobs.pointer_end());
  KeepPage(page, &jobs);
  merged.mutable_pagination()->set_offset(page.offset);
  merged.mutable_pagination()->set_start_index(page.offset);
  merged.mutable_pagination()->set_end_index(page.offset + jobs.size());
  return PrintPage(
      run, merged, merged.pagination(), JobTable(jobs, policies), "jobs",
      all ? "no running or waiting jobs" : absl::StrCat("no jobs in ", absl::StrJoin(names, ", ")));
}

// Sets one property, named as in options and update-batch.
absl::Status Set(const std::string& name, const std::string& value, QueueControl* out) {
  const auto wrong = [&](absl::string_view expected) {
    return UsageError(absl::StrCat(name, ": expected ", expected, ", found \"", value, "\""));
  };
  if (name == "priority") {
    int priority = 0;
    if (!absl::SimpleAtoi(value, &priority)) return wrong("an integer from 1 to 99");
    out->set_priority(priority);
  } else if (name == "weight") {
    float weight = 0;
    if (!absl::SimpleAtof(value, &weight)) return wrong("a number above 0");
    out->set_weight(weight);
  } else if (name == "max-slots") {
    int slots = 0;
    if (value != "none" && (!absl::SimpleAtoi(value, &slots) || slots < 1)) {
      return wrong("a number of slots, or none");
    }
    out->set_max_slots(slots);
  } else if (name == "resource-pool") {
    out->set_resource_pool(value);
  } else if (name == "ahead-of") {
    out->set_ahead_of(value);
  } else if (name == "behind-of") {
    out->set_behind_of(value);
  } else {
    return UsageError(absl::StrCat("\"", name, "\" is not a property of a job; expected one of: ",
                                   absl::StrJoin(kJobProperties, ", ")));
  }
  return absl::OkStatus();
}

absl::StatusOr<int> RunUpdate(Invocation& run) {
  std::vector<JobChange> changes;
  for (const char* name : kJobProperties) {
    if (const auto value = run.args.Get(name)) {
      changes.push_back({run.args.Word("JOB"), name, *value});
    }
  }
  if (changes.empty()) {
    return UsageError("job update: nothing to change; give at least one of --" +
                      absl::StrJoin(kJobProperties, ", --"));
  }
  return UpdateJobs(run, changes);
}

// "7.priority=10". A job ID can contain dots, a property cannot.
absl::StatusOr<JobChange> ParseChange(const std::string& word) {
  const size_t equals = word.find('=');
  const size_t dot = equals == word.npos ? word.npos : word.rfind('.', equals);
  if (dot == word.npos || dot == 0 || equals + 1 == word.size()) {
    return UsageError(
        absl::StrCat("expected JOB.PROPERTY=VALUE such as 7.priority=10, found \"", word, "\""));
  }
  // Determined's property names have underscores.
  std::string name = word.substr(dot + 1, equals - dot - 1);
  std::replace(name.begin(), name.end(), '_', '-');
  return JobChange{word.substr(0, dot), name, word.substr(equals + 1)};
}

absl::StatusOr<int> RunUpdateBatch(Invocation& run) {
  std::vector<JobChange> changes;
  for (const std::string& word : run.args.Words("CHANGE")) {
    DET_ASSIGN_OR_RETURN(JobChange change, ParseChange(word));
    changes.push_back(std::move(change));
  }
  return UpdateJobs(run, changes);
}

}  // namespace

absl::StatusOr<int> UpdateJobs(Invocation& run, const std::vector<JobChange>& changes) {
  api::v1::UpdateJobQueueRequest request;
  for (const JobChange& change : changes) {
    QueueControl* update = request.add_updates();
    update->set_job_id(change.job);
    DET_RETURN_IF_ERROR(Set(change.property, change.value, update));
  }
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::UpdateJobQueueResponse response;
  DET_RETURN_IF_ERROR(api->Call("JobService.UpdateJobQueue", request, &response));
  if (run.json()) {
    DET_RETURN_IF_ERROR(run.PrintJson(response));
    return kExitOk;
  }
  for (const JobChange& change : changes) {
    run.screen->Print(
        absl::StrCat("updated job ", change.job, ": ", change.property, " ", change.value, "\n"));
  }
  run.screen->PrintHint("det job list");
  return kExitOk;
}

std::vector<Command> JobCommands() {
  const Positional job = {"JOB", "Job ID or experiment ID"};
  return {
      {{"job", "list"},
       "List running and waiting jobs in queue order",
       {},
       PagedOptions(
           {{"pool", 'p', "POOL", "Only jobs of this resource pool; repeatable (default: all)"},
            {"reverse", 0, "", "Print the last job of the queue first"}}),
       RunJobList,
       "#: number of jobs ahead in the pool. SLOTS: allocated/requested by the current trials."},
      {{"job", "update"},
       "Change the queue position, limits or pool of a job",
       {job},
       {{"priority", 'p', "N", "Priority from 1 to 99; smaller is served first"},
        {"weight", 'w', "W", "Weight in a fair_share pool, above 0"},
        {"max-slots", 0, "N", "Maximum number of slots at the same time; none for no limit"},
        {"resource-pool", 0, "POOL",
         "Move to this pool; running trials are preempted and restarted"},
        {"ahead-of", 0, "JOB", "Move ahead of this job of the same pool and priority"},
        {"behind-of", 0, "JOB", "Move behind this job of the same pool and priority"}},
       RunUpdate,
       ""},
      {{"job", "update-batch"},
       "Change several jobs in one request: all or none",
       {{"CHANGE", "Changes: JOB.PROPERTY=VALUE, such as 7.priority=10 8.ahead-of=9", false, true}},
       {},
       RunUpdateBatch,
       absl::StrCat("Properties: ", absl::StrJoin(kJobProperties, ", "), ".")},
      {{"job", "explain"},
       "Explain why a job waits and estimate when it starts",
       {job},
       {},
       RunJobExplain,
       "The start time is an estimate from max_run_time if it is set, else from the duration of "
       "other trials of the job."},
  };
}

}  // namespace det::cli
