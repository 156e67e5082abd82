// Where checkpoints lie and how many are kept: the `checkpoint_storage` section. Which members mean
// something to which type is said by the table of fields (fields.h).
//
// PURE.
#ifndef MASTER_CORE_MODEL_STORAGE_CONFIG_H_
#define MASTER_CORE_MODEL_STORAGE_CONFIG_H_

#include <string>

namespace det::model {

struct CheckpointStorageConfig {
  std::string type = "shared_fs";  // shared_fs, directory, s3, gcs, azure
  std::string host_path;           // shared_fs: absolute
  std::string storage_path;        // shared_fs: below host_path; empty: host_path itself
  std::string propagation = "rprivate";
  std::string container_path;  // directory: absolute
  std::string bucket;          // s3, gcs
  std::string prefix;          // s3, gcs: before every key
  std::string access_key;      // s3
  std::string secret_key;
  std::string endpoint_url;
  std::string container;  // azure
  std::string connection_string;
  std::string account_url;
  std::string credential;
  int save_experiment_best = 0;
  int save_trial_best = 1;
  int save_trial_latest = 1;
  friend bool operator==(const CheckpointStorageConfig&, const CheckpointStorageConfig&) = default;
};

// The directory that a path leads to for the types that are directories (shared_fs, directory);
// empty for the others.
std::string CheckpointDirectory(const CheckpointStorageConfig& storage);

}  // namespace det::model

#endif  // MASTER_CORE_MODEL_STORAGE_CONFIG_H_
