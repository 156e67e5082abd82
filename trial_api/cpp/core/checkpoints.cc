#include "trial_api/cpp/core/checkpoints.h"

#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/uuid.h"
#include "trial_api/cpp/core/error.h"
#include <nlohmann/json.hpp>

namespace det::core {
namespace {

using Json = nlohmann::json;
using storage::FileRecord;

// One rank's part as the chief hears of it.
struct Part {
  std::vector<FileRecord> files;
  std::string error;  // empty: it went well
};

std::string ToText(const Part& part) {
  Json files = Json::array();
  for (const FileRecord& file : part.files) files.push_back({file.path, file.size, file.sha256});
  const Json json = {{"files", std::move(files)}, {"error", part.error}};
  // A message may hold any bytes.
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

// The user's metadata with what every checkpoint says.
std::string CompleteMetadata(const std::string& metadata_json, int64_t steps_completed) {
  Json metadata = Json::parse(metadata_json.empty() ? "{}" : metadata_json, nullptr, false);
  if (!metadata.is_object()) throw Error("the metadata is not a JSON object");
  metadata["steps_completed"] = steps_completed;
  return metadata.dump();
}

class CollectiveCheckpoints final : public Checkpoints {
 public:
  CollectiveCheckpoints(Communicator* communicator, std::unique_ptr<storage::Storage> storage,
                        std::string latest, Registrar registrar)
      : communicator_(communicator),
        ranks_(communicator->ranks()),
        storage_(std::move(storage)),
        latest_(std::move(latest)),
        registrar_(std::move(registrar)) {
    if (ranks_.is_chief()) storage_->RemoveLeftovers();
  }

  std::string Save(int64_t steps_completed, const std::string& metadata_json,
                   const std::function<void(const std::string& dir)>& write) override {
    const std::string mine = ranks_.is_chief() ? base::NewUuid() : "";
    const std::string uuid = communicator_->AllGather(mine)[0];
    const std::vector<Part> parts = Gather(WritePart(uuid, write));
    std::string outcome;
    if (ranks_.is_chief()) outcome = PublishParts(uuid, steps_completed, metadata_json, parts);
    outcome = communicator_->AllGather(outcome)[0];
    if (!outcome.empty()) {
      throw Error("checkpoint at " + std::to_string(steps_completed) + " steps: " + outcome);
    }
    return uuid;
  }

  std::optional<std::string> Latest() const override {
    return latest_.empty() ? std::nullopt : std::optional(latest_);
  }

  std::string Open(const std::string& uuid) override { return storage_->Open(uuid); }

 private:
  // Never throws: the others wait for this rank's word.
  Part WritePart(const std::string& uuid, const std::function<void(const std::string&)>& write) {
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
    for (const std::string& text : communicator_->AllGather(ToText(mine))) {
      parts.push_back(FromText(text));
    }
    return parts;
  }

  // Chief. Returns what went wrong, or nothing. Never throws, as WritePart.
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

  Communicator* const communicator_;
  const Ranks ranks_;
  const std::unique_ptr<storage::Storage> storage_;
  const std::string latest_;
  const Registrar registrar_;
};

}  // namespace

std::unique_ptr<Checkpoints> MakeCheckpoints(Communicator* communicator,
                                             std::unique_ptr<storage::Storage> storage,
                                             std::string latest, Registrar registrar) {
  return std::make_unique<CollectiveCheckpoints>(communicator, std::move(storage),
                                                 std::move(latest), std::move(registrar));
}

}  // namespace det::core
