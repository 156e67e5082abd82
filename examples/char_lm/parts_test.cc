// Tests of corpus, streams and net, each against a simple implementation.
#include <zlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "det/trial.h"
#include "examples/char_lm/corpus.h"
#include "examples/char_lm/net.h"
#include "gtest/gtest.h"

namespace {

namespace fs = std::filesystem;

class CorpusTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* const of_bazel = std::getenv("TEST_TMPDIR");
    folder_ = fs::path(of_bazel == nullptr ? "/tmp" : of_bazel) /
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }

  void Write(const std::string& name, const std::string& text) {
    fs::create_directories((folder_ / name).parent_path());
    if (name.ends_with(".gz")) {
      const gzFile file = gzopen((folder_ / name).c_str(), "wb");
      gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
      gzclose(file);
    } else {
      std::ofstream(folder_ / name) << text;
    }
  }
  void WriteMany() {
    for (int i = 0; i < 100; ++i) {
      Write("doc/p" + std::to_string(i) + "/README",
            std::string(100, static_cast<char>(32 + i % 90)));
    }
  }

  fs::path folder_;
};

TEST_F(CorpusTest, FindsUnpacksAndSplitsText) {
  WriteMany();
  Write("man/man1/ls.1.gz", std::string(50, '\x01'));
  Write("doc/a/changelog.Debian.gz", std::string(50, '\x02'));
  Write("doc/a/copyright", std::string(50, '\x03'));
  Write("doc/a/picture.png", std::string(50, '\x04'));
  Write("doc/a/NEWS.txt", std::string("a\0b", 3));  // not text
  const Corpus corpus = ReadCorpus(folder_.string(), 1 << 20, 1);
  EXPECT_EQ(corpus.files, 102);
  EXPECT_EQ(corpus.training.numel() + corpus.validation.numel(), 102 * 100 - 100);
  const auto count = [&](int byte) {
    return (corpus.training == byte).sum().item<int64_t>() +
           (corpus.validation == byte).sum().item<int64_t>();
  };
  EXPECT_EQ(count(1), 50);
  EXPECT_EQ(count(2), 50);
  EXPECT_EQ(count(3) + count(4), 0);
  EXPECT_GT(corpus.validation.numel(), 0);
  EXPECT_LT(corpus.validation.numel(), corpus.training.numel() / 4);
}

TEST_F(CorpusTest, SameTextGivesSameCorpus) {
  WriteMany();
  const Corpus one = ReadCorpus(folder_.string(), 5000, 1);
  const Corpus again = ReadCorpus(folder_.string(), 5000, 1);
  EXPECT_LE(one.training.numel() + one.validation.numel(), 5000);
  EXPECT_TRUE(torch::equal(one.training, again.training));
  EXPECT_EQ(one.fingerprint, again.fingerprint);
  Write("doc/p1/README", std::string(100, '~'));
  EXPECT_NE(one.fingerprint, ReadCorpus(folder_.string(), 1 << 20, 1).fingerprint);
}

TEST_F(CorpusTest, ThrowsError_WhenThereIsTooLittleText) {
  WriteMany();
  try {
    ReadCorpus(folder_.string(), 1 << 20, 1 << 20);
    FAIL() << "10,000 bytes were enough";
  } catch (const det::Error& error) {
    EXPECT_NE(std::string(error.what()).find("set data.path"), std::string::npos) << error.what();
  }
  EXPECT_THROW(ReadCorpus((folder_ / "none").string(), 1, 1), det::Error);
}

TEST(StreamsTest, BatchesReadEachStreamInOrder) {
  const torch::Tensor bytes = torch::arange(0, 200, torch::kUInt8);
  const Streams streams(bytes, 3, 8);
  ASSERT_EQ(streams.size(), 3 * 8);  // (200 - 1) / 3 / 8 chunks of each stream
  for (int64_t stream = 0; stream < 3; ++stream) {
    for (int64_t chunk = 0; chunk < 8; ++chunk) {
      const auto record = streams.get(chunk * 3 + stream);
      const int64_t begin = stream * 64 + chunk * 8;
      EXPECT_TRUE(torch::equal(record[0], bytes.slice(0, begin, begin + 8)));
      EXPECT_TRUE(torch::equal(record[1], bytes.slice(0, begin + 1, begin + 9)));
    }
  }
  EXPECT_THROW(Streams(bytes, 30, 8), det::Error);
}

TEST(NetTest, StepMatchesFormula) {
  torch::manual_seed(1);
  torch::NoGradGuard no_grad;
  CharNet net(4);
  State state{torch::randn({1, 4}), torch::randn({1, 4})};
  const torch::Tensor bytes = torch::full({1, 1}, 65, torch::kUInt8);
  const State next = net->Step(net->Read(bytes)[0], state);

  const auto at = [](const torch::Tensor& tensor, int64_t i, int64_t j) {
    return tensor[i][j].item<double>();
  };
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  std::vector<double> m(4);
  for (int64_t k = 0; k < 4; ++k) {
    double sum = 0;
    for (int64_t j = 0; j < 4; ++j) {
      sum += at(net->of_hidden->weight, k, j) * at(state.hidden, 0, j);
    }
    m[static_cast<size_t>(k)] = at(net->of_byte->weight, 65, k) * sum;
  }
  const auto gate = [&](int64_t row) {
    double sum =
        at(net->of_byte->weight, 65, 4 + row) + net->of_intermediate->bias[row].item<double>();
    for (int64_t j = 0; j < 4; ++j) {
      sum += at(net->of_intermediate->weight, row, j) * m[static_cast<size_t>(j)];
    }
    return sum;
  };
  for (int64_t k = 0; k < 4; ++k) {
    const double cell =
        sigmoid(gate(4 + k)) * at(state.cell, 0, k) + sigmoid(gate(k)) * std::tanh(gate(12 + k));
    EXPECT_NEAR(at(next.cell, 0, k), cell, 1e-6);
    EXPECT_NEAR(at(next.hidden, 0, k), sigmoid(gate(8 + k)) * std::tanh(cell), 1e-6);
  }
}

TEST(NetTest, CarriedStateContinues) {
  torch::manual_seed(2);
  torch::NoGradGuard no_grad;
  CharNet net(8);
  const torch::Tensor bytes = torch::randint(256, {3, 10}, torch::kUInt8);
  State whole = State::Zero(3, 8), parts = State::Zero(3, 8);
  const torch::Tensor at_once = net(bytes, whole);
  const torch::Tensor first = net(bytes.slice(1, 0, 4), parts);
  const torch::Tensor second = net(bytes.slice(1, 4), parts);
  EXPECT_TRUE(torch::allclose(at_once, torch::cat({first, second}), 1e-5, 1e-6));
  EXPECT_TRUE(torch::allclose(whole.hidden, parts.hidden, 1e-5, 1e-6));
}

TEST(NetTest, PaddingDoesNotAffectShorterText) {
  torch::manual_seed(3);
  CharNet net(8);
  const std::vector<std::string> texts = {"short", "a text of more letters", "x"};
  const torch::Tensor together = MeanHidden(net, texts);
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_TRUE(torch::allclose(together[static_cast<int64_t>(i)], MeanHidden(net, {texts[i]})[0],
                                1e-5, 1e-6));
  }
}

TEST(NetTest, Learns) {
  torch::manual_seed(4);
  CharNet net(16);
  torch::optim::Adam adam(net->parameters(), 0.05);
  const torch::Tensor bytes = torch::arange(0, 33, torch::kUInt8).remainder(4).view({1, 33});
  double first = 0;
  double last = 0;
  for (int step = 0; step < 60; ++step) {
    State state = State::Zero(1, 16);
    const torch::Tensor loss = Loss(net(bytes.slice(1, 0, 32), state), bytes.slice(1, 1));
    adam.zero_grad();
    loss.backward();
    adam.step();
    (step == 0 ? first : last) = loss.item<double>();
  }
  EXPECT_LT(last, first / 4);
}

}  // namespace
