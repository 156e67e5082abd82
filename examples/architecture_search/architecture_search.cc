// A net whose depth, and the width and kernel of each layer, are hyperparameters, which search.yaml
// optimizes. Trains on a part of Fashion-MNIST.
#include <zlib.h>

#include <string>

#include "det/trial.h"

constexpr int64_t kPixels = 28;

// Reads `count` bytes after the header of a gzipped IDX file.
torch::Tensor ReadIdx(const std::string& path, int64_t header, int64_t count) {
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) {
    throw det::Error("cannot open " + path +
                     ": install Debian's dataset-fashion-mnist, or set data.path");
  }
  torch::Tensor bytes = torch::empty({count}, torch::kUInt8);
  const int64_t begin = gzseek(file, header, SEEK_SET);
  const int64_t read = gzread(file, bytes.data_ptr(), static_cast<unsigned>(count));
  gzclose(file);
  if (begin != header || read != count) throw det::Error(path + " is damaged or incomplete");
  return bytes;
}

det::TensorDataset ReadFashion(const std::string& path, const std::string& part, int64_t records) {
  const std::string prefix = path + "/" + part;
  torch::Tensor images = ReadIdx(prefix + "-images-idx3-ubyte.gz", 16, records * kPixels * kPixels);
  torch::Tensor kinds = ReadIdx(prefix + "-labels-idx1-ubyte.gz", 8, records);
  return det::TensorDataset({images.view({records, 1, kPixels, kPixels}), kinds.to(torch::kInt64)});
}

// The hyperparameter `depth` is the number of layers; each halves the image.
torch::nn::Sequential MakeNet(det::TrialContext& context) {
  const auto depth = context.hparam<int64_t>("depth");
  torch::nn::Sequential net;
  int64_t channels = 1;
  int64_t size = kPixels;
  for (int64_t layer = 1; layer <= depth; ++layer) {
    const std::string name = "layer" + std::to_string(layer);
    const auto width = context.hparam<int64_t>(name + ".width");
    const auto kernel = context.hparam<int64_t>(name + ".kernel");
    net->push_back(
        torch::nn::Conv2d(torch::nn::Conv2dOptions(channels, width, kernel).padding(kernel / 2)));
    net->push_back(torch::nn::ReLU());
    net->push_back(torch::nn::MaxPool2d(2));
    channels = width;
    size /= 2;
  }
  net->push_back(torch::nn::Flatten());
  net->push_back(torch::nn::Linear(channels * size * size, 10));
  return net;
}

class ArchitectureTrial : public det::Trial {
 public:
  explicit ArchitectureTrial(det::TrialContext& context)
      : context_(context),
        path_(context.data().GetOr<std::string>("path", "/usr/share/datasets/fashion-mnist")),
        net_(context.wrap_model(MakeNet(context))),
        adam_(context.wrap_optimizer(
            torch::optim::Adam(net_->parameters(), context.hparam<double>("learning_rate")))) {}

  det::DataLoader build_training_data_loader() override {
    return {ReadFashion(path_, "train", context_.data().GetOr<int64_t>("train_records", 8192)),
            {.shuffle = true}};
  }

  det::DataLoader build_validation_data_loader() override {
    return {ReadFashion(path_, "t10k", context_.data().GetOr<int64_t>("validation_records", 2000)),
            {.global_batch_size = 500}};
  }

  det::BatchMetrics train_batch(const det::Batch& batch, int64_t, int64_t) override {
    const torch::Tensor loss = torch::cross_entropy_loss(Scores(batch), batch.target());
    context_.backward(loss);
    context_.step_optimizer(adam_);
    return {{"loss", loss}};
  }

  det::BatchMetrics evaluate_batch(const det::Batch& batch) override {
    const torch::Tensor scores = Scores(batch);
    const torch::Tensor right = scores.argmax(1).eq(batch.target());
    return {{"loss", torch::cross_entropy_loss(scores, batch.target())},
            {"accuracy", right.to(torch::kFloat32).mean()}};
  }

 private:
  torch::Tensor Scores(const det::Batch& batch) {
    return net_->forward(batch.data().to(torch::kFloat32).sub_(72.94).div_(90.02));
  }

  det::TrialContext& context_;
  const std::string path_;
  torch::nn::Sequential net_;
  std::shared_ptr<torch::optim::Adam> adam_;
};
