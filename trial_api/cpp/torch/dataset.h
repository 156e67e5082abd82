// Training data: a Dataset provides records by index, a DataLoader defines how they are batched.
// The controller shards, shuffles and keeps the position in the data (sampler.h).
//
// Created by the user, read by the controller on the training thread.
#ifndef TRIAL_API_CPP_TORCH_DATASET_H_
#define TRIAL_API_CPP_TORCH_DATASET_H_

#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <torch/types.h>

namespace det {

// The records of one batch. The first dimension of each tensor counts records.
struct Batch {
  std::vector<torch::Tensor> tensors;

  const torch::Tensor& operator[](size_t i) const { return tensors.at(i); }
  const torch::Tensor& data() const { return tensors.at(0); }
  const torch::Tensor& target() const { return tensors.at(1); }
  int64_t size() const { return tensors.empty() ? 0 : tensors.front().size(0); }
};

class Dataset {
 public:
  virtual ~Dataset() = default;

  // Returns the number of records.
  virtual int64_t size() const = 0;
  // Returns the tensors of one record, without the batch dimension.
  virtual std::vector<torch::Tensor> get(int64_t index) const = 0;
  // Returns several records as a batch. The default implementation stacks the results of get();
  // override it if that is slow.
  virtual Batch get_batch(std::span<const int64_t> indices) const;
};

// A data set in memory; all tensors must have the same first dimension, the number of records.
// Throws Error otherwise.
class TensorDataset : public Dataset {
 public:
  explicit TensorDataset(std::vector<torch::Tensor> tensors);

  int64_t size() const override { return tensors_.front().size(0); }
  std::vector<torch::Tensor> get(int64_t index) const override;
  Batch get_batch(std::span<const int64_t> indices) const override;

 private:
  std::vector<torch::Tensor> tensors_;
};

struct DataLoaderOptions {
  // Whether to use a different order in every epoch, determined by the seed.
  bool shuffle = false;
  // Number of records in a batch of all ranks together; 0: the hyperparameter global_batch_size.
  int64_t global_batch_size = 0;
};

// In training, the last records of an epoch that do not fill a batch are skipped; in validation
// every record is used exactly once.
class DataLoader {
 public:
  DataLoader(std::shared_ptr<const Dataset> dataset, DataLoaderOptions options = {})
      : dataset_(std::move(dataset)), options_(options) {}
  template <class D>
    requires std::is_base_of_v<Dataset, D>
  DataLoader(D dataset, DataLoaderOptions options = {})
      : DataLoader(std::make_shared<const D>(std::move(dataset)), options) {}

  const Dataset& dataset() const { return *dataset_; }
  const DataLoaderOptions& options() const { return options_; }

 private:
  std::shared_ptr<const Dataset> dataset_;
  DataLoaderOptions options_;
};

}  // namespace det

#endif  // TRIAL_API_CPP_TORCH_DATASET_H_
