// A convolutional net that classifies clothes in images of 28 x 28 pixels into ten classes
// (Fashion-MNIST).
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

// Records are (image as bytes, class). Bytes take a quarter of the memory of floats; train_batch()
// converts them.
det::TensorDataset ReadFashion(const std::string& path, const std::string& part, int64_t records) {
  const std::string prefix = path + "/" + part;
  torch::Tensor images = ReadIdx(prefix + "-images-idx3-ubyte.gz", 16, records * kPixels * kPixels);
  torch::Tensor kinds = ReadIdx(prefix + "-labels-idx1-ubyte.gz", 8, records);
  return det::TensorDataset({images.view({records, 1, kPixels, kPixels}), kinds.to(torch::kInt64)});
}

struct NetImpl : torch::nn::Module {
  explicit NetImpl(int64_t width)
      : conv1(Conv(1, width)),
        conv2(Conv(width, width)),
        conv3(Conv(width, 2 * width)),
        linear(2 * width * 3 * 3, 10) {
    register_module("conv1", conv1);
    register_module("conv2", conv2);
    register_module("conv3", conv3);
    register_module("linear", linear);
  }

  static torch::nn::Conv2d Conv(int64_t in, int64_t out) {
    return torch::nn::Conv2d(torch::nn::Conv2dOptions(in, out, 3).padding(1));
  }

  torch::Tensor forward(const torch::Tensor& bytes) {
    // The mean and standard deviation of all training pixels.
    torch::Tensor x = bytes.to(torch::kFloat32).sub_(72.94).div_(90.02);
    x = torch::max_pool2d(torch::relu(conv1(x)), 2);
    x = torch::max_pool2d(torch::relu(conv2(x)), 2);
    x = torch::max_pool2d(torch::relu(conv3(x)), 2);
    return linear(x.flatten(1));
  }

  torch::nn::Conv2d conv1, conv2, conv3;
  torch::nn::Linear linear;
};
TORCH_MODULE(Net);

class FashionMnistTrial : public det::Trial {
 public:
  explicit FashionMnistTrial(det::TrialContext& context)
      : context_(context),
        path_(context.data().GetOr<std::string>("path", "/usr/share/datasets/fashion-mnist")),
        net_(context.wrap_model(Net(context.hparam<int64_t>("width")))),
        adam_(context.wrap_optimizer(
            torch::optim::Adam(net_->parameters(), context.hparam<double>("learning_rate")))) {}

  det::DataLoader build_training_data_loader() override {
    return {ReadFashion(path_, "train", context_.data().GetOr<int64_t>("train_records", 60000)),
            {.shuffle = true}};
  }

  det::DataLoader build_validation_data_loader() override {
    return {ReadFashion(path_, "t10k", context_.data().GetOr<int64_t>("validation_records", 10000)),
            {.global_batch_size = 500}};
  }

  det::BatchMetrics train_batch(const det::Batch& batch, int64_t, int64_t) override {
    const torch::Tensor loss = torch::cross_entropy_loss(net_(batch.data()), batch.target());
    context_.backward(loss);
    SetLearningRate();
    context_.step_optimizer(adam_);
    return {{"loss", loss}};
  }

  det::BatchMetrics evaluate_batch(const det::Batch& batch) override {
    const torch::Tensor scores = net_(batch.data());
    const torch::Tensor right = scores.argmax(1).eq(batch.target());
    return {{"loss", torch::cross_entropy_loss(scores, batch.target())},
            {"accuracy", right.to(torch::kFloat32).mean()}};
  }

 private:
  // The learning rate decreases linearly from the hyperparameter to zero.
  void SetLearningRate() {
    const double left = 1.0 - static_cast<double>(context_.steps_completed()) /
                                  static_cast<double>(context_.max_steps());
    for (auto& group : adam_->param_groups()) {
      group.options().set_lr(context_.hparam<double>("learning_rate") * left);
    }
  }

  det::TrialContext& context_;
  const std::string path_;
  Net net_;
  std::shared_ptr<torch::optim::Adam> adam_;
};
