#include "tests/bench/search/functions.h"

#include <cmath>
#include <numbers>

#include "absl/strings/str_cat.h"

namespace det::bench {
namespace {

using model::CategoricalHparam;
using model::DoubleHparam;
using model::Hparams;
using model::IntHparam;
using model::LogHparam;
using model::SearchSpace;
using std::numbers::pi;

double Number(const Hparams& h, const std::string& name) { return *h.at(name).AsNumber(); }

std::vector<double> Vector(const Hparams& h) {
  std::vector<double> x;
  for (size_t i = 0; i < h.size(); ++i) x.push_back(Number(h, absl::StrCat("x", i)));
  return x;
}

SearchSpace Cube(int dimensions, double low, double high) {
  SearchSpace space;
  for (int i = 0; i < dimensions; ++i) space[absl::StrCat("x", i)] = {DoubleHparam{low, high, {}}};
  return space;
}

double Branin(const Hparams& h) {
  const double x = Number(h, "x0"), y = Number(h, "x1");
  const double b = 5.1 / (4 * pi * pi), c = 5 / pi, t = 1 / (8 * pi);
  const double valley = y - b * x * x + c * x - 6;
  return valley * valley + 10 * (1 - t) * std::cos(x) + 10 - 0.39788735772973816;
}

double Hartmann6(const Hparams& h) {
  constexpr double kAlpha[4] = {1.0, 1.2, 3.0, 3.2};
  constexpr double kA[4][6] = {{10, 3, 17, 3.5, 1.7, 8},
                               {0.05, 10, 17, 0.1, 8, 14},
                               {3, 3.5, 1.7, 10, 17, 8},
                               {17, 8, 0.05, 10, 0.1, 14}};
  constexpr double kP[4][6] = {{0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886},
                               {0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991},
                               {0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650},
                               {0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381}};
  const std::vector<double> x = Vector(h);
  double sum = 0;
  for (int i = 0; i < 4; ++i) {
    double square = 0;
    for (size_t j = 0; j < 6; ++j) square += kA[i][j] * (x[j] - kP[i][j]) * (x[j] - kP[i][j]);
    sum += kAlpha[i] * std::exp(-square);
  }
  return 3.322368011391339 - sum;
}

double Ackley(const Hparams& h) {
  const std::vector<double> x = Vector(h);
  const double n = static_cast<double>(x.size());
  double squares = 0, cosines = 0;
  for (const double v : x) {
    squares += v * v;
    cosines += std::cos(2 * pi * v);
  }
  return -20 * std::exp(-0.2 * std::sqrt(squares / n)) - std::exp(cosines / n) + 20 +
         std::numbers::e;
}

double Rastrigin(const Hparams& h) {
  double sum = 0;
  for (const double v : Vector(h)) sum += 10 + v * v - 10 * std::cos(2 * pi * v);
  return sum;
}

size_t Choice(const Hparams& h, const std::string& name, const std::vector<std::string>& names) {
  for (size_t i = 0; i < names.size(); ++i) {
    if (*h.at(name).AsString() == names[i]) return i;
  }
  return 0;
}

// Resembles a neural network: each optimizer has its own optimal learning rate, each activation a
// depth, each depth a dropout.
double Mixed(const Hparams& h) {
  constexpr double kOptimizer[] = {0.4, 0.2, 0.1, 0.0}, kExponent[] = {-1.0, -1.5, -3.5, -3.0};
  constexpr double kActivation[] = {0.15, 0.3, 0.0}, kLayers[] = {5, 3, 6};
  const size_t optimizer = Choice(h, "optimizer", {"sgd", "momentum", "rmsprop", "adam"});
  const size_t activation = Choice(h, "activation", {"relu", "tanh", "gelu"});
  const double layers = Number(h, "layers");
  const double rate = std::log10(Number(h, "lr")) - kExponent[optimizer];
  const double depth = layers - kLayers[activation];
  const double dropout = Number(h, "dropout") - 0.05 * layers;
  return kOptimizer[optimizer] + kActivation[activation] + 0.5 * rate * rate + 0.1 * depth * depth +
         2 * dropout * dropout;
}

SearchSpace MixedSpace() {
  return {{"optimizer", {CategoricalHparam{{"sgd", "momentum", "rmsprop", "adam"}}}},
          {"activation", {CategoricalHparam{{"relu", "tanh", "gelu"}}}},
          {"layers", {IntHparam{1, 8, {}}}},
          {"lr", {LogHparam{10, -5, 0, {}}}},
          {"dropout", {DoubleHparam{0, 0.9, {}}}}};
}

}  // namespace

std::vector<Function> Functions() {
  return {
      {"branin", {{"x0", {DoubleHparam{-5, 10, {}}}}, {"x1", {DoubleHparam{0, 15, {}}}}}, Branin},
      {"hartmann6", Cube(6, 0, 1), Hartmann6},
      {"ackley10", Cube(10, -32.768, 32.768), Ackley},
      {"rastrigin5", Cube(5, -5.12, 5.12), Rastrigin},
      {"mixed", MixedSpace(), Mixed}};
}

}  // namespace det::bench
