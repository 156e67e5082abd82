#include "trial_api/cpp/torch/dataset.h"

#include <string>

#include "trial_api/cpp/core/error.h"

namespace det {

Batch Dataset::get_batch(std::span<const int64_t> indices) const {
  std::vector<std::vector<torch::Tensor>> columns;
  for (const int64_t index : indices) {
    std::vector<torch::Tensor> record = get(index);
    if (columns.empty()) columns.resize(record.size());
    if (record.size() != columns.size()) {
      throw Error("record " + std::to_string(index) + " of the data set has " +
                  std::to_string(record.size()) + " tensors, others have " +
                  std::to_string(columns.size()));
    }
    for (size_t i = 0; i < record.size(); ++i) columns[i].push_back(std::move(record[i]));
  }
  Batch batch;
  for (const std::vector<torch::Tensor>& column : columns) {
    batch.tensors.push_back(torch::stack(column));
  }
  return batch;
}

TensorDataset::TensorDataset(std::vector<torch::Tensor> tensors) : tensors_(std::move(tensors)) {
  if (tensors_.empty()) throw Error("a TensorDataset needs at least one tensor");
  for (const torch::Tensor& tensor : tensors_) {
    if (tensor.dim() < 1 || tensor.size(0) != tensors_.front().size(0)) {
      throw Error("the tensors of a TensorDataset must agree in their first dimension");
    }
  }
}

std::vector<torch::Tensor> TensorDataset::get(int64_t index) const {
  std::vector<torch::Tensor> record;
  for (const torch::Tensor& tensor : tensors_) record.push_back(tensor[index]);
  return record;
}

Batch TensorDataset::get_batch(std::span<const int64_t> indices) const {
  // from_blob only reads; index_select copies the records before `indices` may change.
  const torch::Tensor rows = torch::from_blob(
      const_cast<int64_t*>(indices.data()), {static_cast<int64_t>(indices.size())}, torch::kInt64);
  Batch batch;
  for (const torch::Tensor& tensor : tensors_) {
    batch.tensors.push_back(tensor.index_select(0, rows));
  }
  return batch;
}

}  // namespace det
