#include "trial_api/cpp/core/checkpoints.h"

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/uuid.h"
#include "trial_api/cpp/core/error.h"
#include <nlohmann/json.hpp>

namespace det::core {
namespace {

using Json = nlohmann::json;
using storage::FileRecord;

// Niceness of the saving thread: it gets a thirtieth of a core that a training thread uses too.
constexpr int kNiceness = 15;

// The result of one rank's part, as sent to the chief.
struct Part {
  std::vector<FileRecord> files;
  std::string error;  // empty: success
};

std::string ToText(const Part& part) {
  Json files = Json::array();
  for (const FileRecord& file : part.files) files.push_back({file.path, file.size, file.sha256});
  const Json json = {{"files", std::move(files)}, {"error", part.error}};
  // Messages may contain bytes that are not UTF-8.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Part FromText(const std::string& text) {
  const Json json = Json::parse(text);
  Part part;
  part.error = json.at("error");
  for (const Json& file : json.at("files")) {
    part.files.push_back({file.at(0), file.at(1), file.at(2)});
  }
  return part;
}

// Adds the standard fields to the user's metadata.
std::string CompleteMetadata(const std::string& metadata_json, int64_t steps_completed) {
  Json metadata = Json::parse(metadata_json.empty() ? "{}" : metadata_json, nullptr, false);
  if (!metadata.is_object()) throw Error("the checkpoint metadata is not a JSON object");
  metadata["steps_completed"] = steps_completed;
  return metadata.dump();
}

// One checkpoint, written by all ranks together. Runs on the saving thread; shared with it, because
// it may wait for a peer forever.
class Saver {
 public:
  Saver(std::shared_ptr<Communicator> channel, std::shared_ptr<storage::Storage> storage,
        Registrar registrar)
      : channel_(std::move(channel)),
        ranks_(channel_->ranks()),
        storage_(std::move(storage)),
        registrar_(std::move(registrar)) {}

  std::string Save(int64_t steps_completed, const std::string& metadata_json,
                   const Checkpoints::Writer& write) {
    const std::string mine = ranks_.is_chief() ? base::NewUuid() : "";
    const std::string uuid = channel_->AllGather(mine)[0];
    const std::vector<Part> parts = Gather(WritePart(uuid, write));
    std::string outcome;
    if (ranks_.is_chief()) outcome = PublishParts(uuid, steps_completed, metadata_json, parts);
    outcome = channel_->AllGather(outcome)[0];
    if (!outcome.empty()) {
      throw Error("checkpoint at " + std::to_string(steps_completed) + " steps: " + outcome);
    }
    return uuid;
  }

 private:
  // Never throws, because the other ranks wait for the result of this one.
  Part WritePart(const std::string& uuid, const Checkpoints::Writer& write) {
    Part part;
    try {
      write(storage_->BeginWrite(uuid, ranks_.rank));
      part.files = storage_->EndWrite(uuid, ranks_.rank);
    } catch (const std::exception& e) {
      part.error = *e.what() == '\0' ? "unknown error" : e.what();
    }
    return part;
  }

  std::vector<Part> Gather(const Part& mine) {
    std::vector<Part> parts;
    for (const std::string& text : channel_->AllGather(ToText(mine))) {
      parts.push_back(FromText(text));
    }
    return parts;
  }

  // Runs on the chief. Returns an error message, or an empty string. Never throws.
  std::string PublishParts(const std::string& uuid, int64_t steps_completed,
                           const std::string& metadata_json, const std::vector<Part>& parts) {
    try {
      std::vector<std::vector<FileRecord>> by_rank;
      for (size_t rank = 0; rank < parts.size(); ++rank) {
        if (!parts[rank].error.empty()) {
          throw Error("rank " + std::to_string(rank) + " failed: " + parts[rank].error);
        }
        by_rank.push_back(parts[rank].files);
      }
      CheckpointReport report;
      report.uuid = uuid;
      report.steps_completed = steps_completed;
      report.time = std::chrono::system_clock::now();
      report.metadata_json = CompleteMetadata(metadata_json, steps_completed);
      for (const FileRecord& file : storage_->Publish(uuid, by_rank, report.metadata_json)) {
        report.resources[file.path] = file.size;
      }
      registrar_(report);
      return "";
    } catch (const std::exception& e) {
      storage_->Remove(uuid);
      return e.what();
    }
  }

  const std::shared_ptr<Communicator> channel_;
  const Ranks ranks_;
  const std::shared_ptr<storage::Storage> storage_;
  const Registrar registrar_;
};

// Saving has a low priority while training runs, and a normal one while training waits for it.
void LowerPriority() { ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNiceness); }

class CollectiveCheckpoints final : public Checkpoints {
 public:
  CollectiveCheckpoints(Communicator* communicator, std::unique_ptr<storage::Storage> storage,
                        StartPoint start, Registrar registrar)
      : communicator_(communicator),
        ranks_(communicator->ranks()),
        storage_(std::move(storage)),
        start_(std::move(start)),
        registrar_(std::move(registrar)) {
    if (ranks_.is_chief()) storage_->RemoveLeftovers();
  }

  // A running save is left to its thread, because its peers may be gone or never take part.
  ~CollectiveCheckpoints() override {
    if (!thread_.joinable()) return;
    const bool done = result_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    if (done || ranks_.size == 1) {
      thread_.join();
    } else {
      thread_.detach();
    }
  }

  void StartSave(int64_t steps_completed, const std::string& metadata_json, Writer write) override {
    FinishSave();
    if (!saver_) {
      saver_ =
          std::make_shared<Saver>(communicator_->Duplicate("checkpoints"), storage_, registrar_);
    }
    std::packaged_task<std::string()> task(
        [saver = saver_, steps_completed, metadata_json, write = std::move(write)] {
          LowerPriority();
          return saver->Save(steps_completed, metadata_json, write);
        });
    result_ = task.get_future();
    thread_ = std::thread(std::move(task));
  }

  std::string FinishSave() override {
    if (!thread_.joinable()) return "";
    thread_.join();
    return result_.get();
  }

  std::optional<std::string> Latest() const override {
    return start_.uuid.empty() ? std::nullopt : std::optional(start_.uuid);
  }

  std::string Open(const std::string& uuid) override { return storage_->Open(uuid); }

  std::optional<Opened> OpenLatest() override {
    if (start_.uuid.empty()) return std::nullopt;
    std::vector<std::string> rest;  // on the chief
    std::vector<CheckpointReport> damaged;
    std::string uuid = start_.uuid;
    std::string first_error;
    while (!uuid.empty()) {
      Opened opened{.uuid = uuid};
      const std::string error = OpenTogether(&opened);
      if (error.empty()) {
        Register(std::move(damaged), opened);
        return opened;
      }
      damaged.push_back({.uuid = uuid, .resources = {}, .metadata_json = "{}", .damage = error});
      if (ranks_.is_chief()) {
        if (first_error.empty()) rest = Before();
        std::fprintf(stderr, "WARNING: %s; trying the previous checkpoint\n", error.c_str());
      }
      if (first_error.empty()) first_error = error;
      std::string next;
      if (!rest.empty()) {
        next = rest.front();
        rest.erase(rest.begin());
      }
      uuid = communicator_->AllGather(next)[0];
    }
    throw Error(first_error);
  }

 private:
  // Returns the damage that any rank found; the same on all ranks. Throws on all ranks if one could
  // not read the storage, because falling back to an older checkpoint would lose training that is
  // not lost.
  std::string OpenTogether(Opened* opened) {
    std::string damage;
    std::string unreachable;
    try {
      opened->dir = storage_->Open(opened->uuid);
    } catch (const StorageUnreachable& e) {
      unreachable = e.what();
    } catch (const Error& e) {
      damage = e.what();
    }
    for (const std::string& error : communicator_->AllGather(unreachable)) {
      if (!error.empty()) throw StorageUnreachable(error);
    }
    for (const std::string& error : communicator_->AllGather(damage)) {
      if (!error.empty()) return error;
    }
    return "";
  }

  // Damage is reported only once an intact checkpoint is found: before, the storage itself may be
  // unavailable.
  void Register(std::vector<CheckpointReport> damaged, const Opened& instead) {
    if (!ranks_.is_chief() || damaged.empty()) return;
    const std::string metadata = *base::ReadFile(instead.dir + "/metadata.json");
    for (CheckpointReport& report : damaged) {
      report.steps_completed = Json::parse(metadata).at("steps_completed");
      report.time = std::chrono::system_clock::now();
      report.instead = instead.uuid;
      registrar_(report);
    }
  }

  // Returns the checkpoints that may replace the one to start from; newest first.
  std::vector<std::string> Before() {
    std::vector<std::string> uuids;
    if (!start_.steps) return uuids;
    for (std::string& uuid : storage_->ListSaved(*start_.steps)) {
      if (uuid != start_.uuid) uuids.push_back(std::move(uuid));
    }
    return uuids;
  }

  Communicator* const communicator_;
  const Ranks ranks_;
  const std::shared_ptr<storage::Storage> storage_;
  const StartPoint start_;
  const Registrar registrar_;
  std::shared_ptr<Saver> saver_;
  std::thread thread_;  // of the running save, or of a finished one whose result was not requested
  std::future<std::string> result_;
};

}  // namespace

std::unique_ptr<Checkpoints> MakeCheckpoints(Communicator* communicator,
                                             std::unique_ptr<storage::Storage> storage,
                                             StartPoint start, Registrar registrar) {
  return std::make_unique<CollectiveCheckpoints>(communicator, std::move(storage), std::move(start),
                                                 std::move(registrar));
}

}  // namespace det::core
