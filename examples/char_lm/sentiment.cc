// Classifies whether a sentence is positive or negative with a linear model on the features of a
// trained character model (char_lm.cc), whose weights are frozen; Radford et al., "Learning to
// generate reviews and discovering sentiment", 2017. With `features: bytes` the frequencies of
// characters are used for comparison.
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "det/trial.h"
#include "net.h"

namespace {

struct Sentences {
  std::vector<std::string> texts;
  std::vector<float> praises;  // 1: positive, 0: negative
};

// Reads lines "train|validation <tab> 1|0 <tab> sentence"; returns those of one part.
Sentences ReadSentences(const std::string& path, const std::string& part) {
  std::ifstream file(path);
  if (!file) throw det::Error("cannot open " + path + ": it must be in the context directory");
  Sentences sentences;
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find('\t');
    const size_t second = line.find('\t', first + 1);
    if (second == std::string::npos) throw det::Error(path + ": not a sentence: " + line);
    if (line.substr(0, first) != part) continue;
    // Surrounded by line ends, like a line in a text.
    sentences.texts.push_back("\n" + line.substr(second + 1) + "\n");
    sentences.praises.push_back(line.at(first + 1) == '1' ? 1.0F : 0.0F);
  }
  return sentences;
}

torch::Tensor CountBytes(const std::vector<std::string>& texts) {
  torch::Tensor counts = torch::zeros({static_cast<int64_t>(texts.size()), 256});
  auto of = counts.accessor<float, 2>();
  for (size_t i = 0; i < texts.size(); ++i) {
    for (const char c : texts[i]) of[static_cast<int64_t>(i)][static_cast<unsigned char>(c)] += 1;
  }
  return counts / counts.sum(1, true);
}

// Loads the weights from a checkpoint of CharLmTrial.
CharNet ReadNet(const std::string& folder, int64_t hidden) {
  CharNet net(hidden);
  try {
    torch::load(net, folder + "/model_0.pt");
  } catch (const c10::Error& error) {
    throw det::Error(
        "cannot read the net in " + folder +
        ": set `language_model` to the directory of a checkpoint of char_lm.cc with the "
        "same `hidden` (det checkpoint download UUID -o FOLDER): " +
        error.what_without_backtrace());
  }
  net->eval();
  return net;
}

// Returns [sentences, features].
torch::Tensor Describe(det::TrialContext& context, const std::vector<std::string>& texts) {
  const auto kind = context.hparams().GetOr<std::string>("features", "net");
  if (kind == "bytes") return CountBytes(texts);
  if (kind != "net") throw det::InvalidHp("features is " + kind + ": expected net or bytes");
  CharNet net =
      ReadNet(context.hparam<std::string>("language_model"), context.hparam<int64_t>("hidden"));
  return MeanHidden(net, texts);
}

}  // namespace

// The features of each sentence, computed once and normalized to mean 0 and deviation 1 on the
// training set.
struct Features {
  det::TensorDataset training;
  det::TensorDataset validation;
};

static Features ReadFeatures(det::TrialContext& context) {
  const auto path = context.data().GetOr<std::string>("sentences", "sentiment.tsv");
  const Sentences training = ReadSentences(path, "train");
  const Sentences validation = ReadSentences(path, "validation");
  const torch::Tensor of_training = Describe(context, training.texts);
  const torch::Tensor mean = of_training.mean(0);
  const torch::Tensor deviation = of_training.std(0) + 1e-5;
  const auto records = [&](const torch::Tensor& features, const Sentences& sentences) {
    return det::TensorDataset({(features - mean) / deviation, torch::tensor(sentences.praises)});
  };
  return {records(of_training, training), records(Describe(context, validation.texts), validation)};
}

class SentimentTrial : public det::Trial {
 public:
  explicit SentimentTrial(det::TrialContext& context)
      : context_(context),
        features_(ReadFeatures(context)),
        line_(context.wrap_model(torch::nn::Linear(features_.training.get(0).at(0).numel(), 1))),
        adam_(context.wrap_optimizer(
            torch::optim::Adam(line_->parameters(), context.hparam<double>("learning_rate")))),
        penalty_(context.hparam<double>("penalty")) {}

  det::DataLoader build_training_data_loader() override {
    return {features_.training, {.shuffle = true}};
  }
  det::DataLoader build_validation_data_loader() override {
    return {features_.validation, {.global_batch_size = 100}};
  }

  det::BatchMetrics train_batch(const det::Batch& batch, int64_t, int64_t) override {
    const torch::Tensor loss = ComputeLoss(line_(batch.data()).squeeze(1), batch.target());
    // Few features are relevant for the sentiment: Radford et al., section 3.1.
    context_.backward(loss + penalty_ * line_->weight.abs().sum());
    context_.step_optimizer(adam_);
    return {{"loss", loss.detach()}};
  }

  det::BatchMetrics evaluate_batch(const det::Batch& batch) override {
    const torch::Tensor scores = line_(batch.data()).squeeze(1);
    const torch::Tensor right = (scores > 0).eq(batch.target() > 0.5);
    return {{"loss", ComputeLoss(scores, batch.target())},
            {"accuracy", right.to(torch::kFloat32).mean()}};
  }

 private:
  static torch::Tensor ComputeLoss(const torch::Tensor& scores, const torch::Tensor& praises) {
    return torch::binary_cross_entropy_with_logits(scores, praises);
  }

  det::TrialContext& context_;
  const Features features_;
  torch::nn::Linear line_;
  std::shared_ptr<torch::optim::Adam> adam_;
  const double penalty_;
};
