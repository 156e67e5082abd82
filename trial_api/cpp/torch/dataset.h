// What a Trial trains on: a Dataset gives records by index, a DataLoader says how they are batched.
// Sharding, shuffling and the position in the data are the controller's work (sampler.h).
//
// Written or filled by the user, read by the controller on the training thread.
#ifndef TRIAL_API_CPP_TORCH_DATASET_H_
#define TRIAL_API_CPP_TORCH_DATASET_H_

#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <torch/torch.h>

namespace det {

// The records of one batch: each tensor's first dimension counts records.
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

  virtual int64_t size() const = 0;
  // The tensors of one record, without the dimension that counts records.
  virtual std::vector<torch::Tensor> get(int64_t index) const = 0;
  // Several at once; stacks what get() returns. Override it where that is slow.
  virtual Batch get_batch(std::span<const int64_t> indices) const;
};

// All records in memory: `tensors` agree in their first dimension. Throws Error when they do not.
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
  // Another order in every epoch, the same for the same seed.
  bool shuffle = false;
  // Records in a batch of all ranks together; 0: the hyperparameter global_batch_size.
  int64_t global_batch_size = 0;
};

// In training, records that do not fill a last batch are left out of that epoch; in validation
// every record is seen exactly once.
class DataLoader {
 public:
  DataLoader(std::shared_ptr<const Dataset> dataset, DataLoaderOptions options = {})
      : dataset_(std::move(dataset)), options_(options) {}
  template <class D>
  requires std::is_base_of_v<Dataset, D> DataLoader(D dataset, DataLoaderOptions options = {})
      : DataLoader(std::make_shared<const D>(std::move(dataset)), options) {}

  const Dataset& dataset() const { return *dataset_; }
  const DataLoaderOptions& options() const { return options_; }

 private:
  std::shared_ptr<const Dataset> dataset_;
  DataLoaderOptions options_;
};

}  // namespace det

#endif  // TRIAL_API_CPP_TORCH_DATASET_H_
