#include "master/service/create_experiment.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/rng.h"
#include "base/status_macros.h"
#include "master/auth/tokens.h"
#include "master/model/entrypoint.h"
#include "master/model/parse/parse.h"
#include "master/service/warm_start.h"

namespace det::service {
namespace {

// Different for each submission, and the same for a repeated one.
uint32_t SeedFor(const Edge& edge, const std::string& request_id) {
  const std::string text =
      request_id.empty() ? auth::NewToken() : absl::StrCat(edge.facts.cluster_id, request_id);
  const std::string hash = auth::Sha256Hex(text);
  return static_cast<uint32_t>(std::stoul(hash.substr(0, 8), nullptr, 16)) & 0x7fffffff;
}

// It is looked up by an index, whose entries are bounded.
constexpr size_t kRequestIdLimit = 128;

absl::Status CheckEntrypoint(const model::ExperimentConfig& config, const ContextArchive& context,
                             const det::api::v1::CreateExperimentRequest& request) {
  const auto trial = model::ParseTrialEntrypoint(config.entrypoint);
  if (!trial) return absl::OkStatus();
  DET_ASSIGN_OR_RETURN(const std::string path, NormalizeContextPath(trial->file));
  if (context.files.contains(path)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(model::LocateInConfig(request.config(), request.config_path(), "entrypoint"),
                   ": entrypoint: ", trial->file, " is not in the context directory"));
}

absl::Status CheckPlace(const Edge& edge, const model::ExperimentConfig& config,
                        const det::api::v1::CreateExperimentRequest& request) {
  const absl::Status allowed =
      CheckCheckpointPlace(edge.checkpoint_places, config.checkpoint_storage);
  if (allowed.ok()) return allowed;
  constexpr char kMember[] = "checkpoint_storage.host_path";
  return absl::InvalidArgumentError(
      absl::StrCat(model::LocateInConfig(request.config(), request.config_path(), kMember), ": ",
                   kMember, ": ", allowed.message()));
}

}  // namespace

absl::StatusOr<Submission> PrepareSubmission(const Edge& edge,
                                             const det::api::v1::CreateExperimentRequest& request,
                                             model::UserId owner) {
  if (request.request_id().size() > kRequestIdLimit) {
    return absl::InvalidArgumentError(absl::StrCat("request_id: ", request.request_id().size(),
                                                   " bytes; at most ", kRequestIdLimit,
                                                   " are allowed"));
  }
  model::ConfigDefaults defaults;
  defaults.checkpoint_host_path = edge.checkpoint_places.own;
  defaults.experiment_seed = SeedFor(edge, request.request_id());
  DET_ASSIGN_OR_RETURN(
      model::ExperimentConfig config,
      model::ParseExperimentConfig(request.config(), request.config_path(), {}, defaults));
  DET_RETURN_IF_ERROR(CheckPlace(edge, config, request));
  DET_ASSIGN_OR_RETURN(const std::optional<model::CheckpointId> warm_start,
                       FindWarmStart(*edge.store, config.searcher));
  Submission submission;
  DET_ASSIGN_OR_RETURN(submission.context, PackContext(request.model_definition()));
  DET_RETURN_IF_ERROR(CheckEntrypoint(config, submission.context, request));
  submission.event = {.config = std::make_shared<const model::ExperimentConfig>(std::move(config)),
                      .original_config = request.config(),
                      .context_hash = submission.context.hash,
                      .owner = owner,
                      .request_id = request.request_id(),
                      .activate = request.activate(),
                      .warm_start = warm_start};
  return submission;
}

absl::StatusOr<std::optional<model::ExperimentId>> FindByRequestId(store::Store& store,
                                                                   const std::string& request_id) {
  if (request_id.empty()) return std::nullopt;
  DET_ASSIGN_OR_RETURN(
      const store::ExperimentPage page,
      store.ListExperiments({.window = {.offset = 0, .limit = 1}, .request_id = request_id}));
  if (page.experiments.empty()) return std::nullopt;
  return page.experiments.front().experiment.id;
}

}  // namespace det::service
