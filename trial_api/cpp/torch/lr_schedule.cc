#include "trial_api/cpp/torch/lr_schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <utility>

#include "trial_api/cpp/core/error.h"

namespace det::lr {
namespace {

void RequireAtLeastOne(const char* what, int64_t value) {
  if (value < 1) {
    throw Error("lr::" + std::string(what) + " is " + std::to_string(value) +
                ": must be at least 1");
  }
}

void RequireAboveZero(const char* what, double value) {
  // Written so that NaN is rejected too.
  if (!(value > 0.0)) {
    throw Error("lr::" + std::string(what) + " is " + std::to_string(value) + ": must be above 0");
  }
}

// Returns the progress from 0 to 1; 1 if there is nothing to train.
double ComputeShare(int64_t steps, int64_t max_steps) {
  if (max_steps <= 0) return 1.0;
  return std::clamp(static_cast<double>(steps) / static_cast<double>(max_steps), 0.0, 1.0);
}

}  // namespace

LrFactor constant() {
  return [](int64_t, int64_t) { return 1.0; };
}

LrFactor warmup(int64_t steps, LrFactor then, double from) {
  RequireAtLeastOne("warmup(): steps", steps);
  return [=, then = std::move(then)](int64_t done, int64_t max_steps) {
    if (done >= steps) return then(done - steps, max_steps - steps);
    return from + (1.0 - from) * static_cast<double>(done + 1) / static_cast<double>(steps);
  };
}

LrFactor cosine(double to) {
  return [=](int64_t steps, int64_t max_steps) {
    const double wave = std::cos(std::numbers::pi * ComputeShare(steps, max_steps));
    return to + (1.0 - to) * (1.0 + wave) / 2.0;
  };
}

LrFactor polynomial(double power, double to) {
  RequireAboveZero("polynomial(): power", power);
  return [=](int64_t steps, int64_t max_steps) {
    return to + (1.0 - to) * std::pow(1.0 - ComputeShare(steps, max_steps), power);
  };
}

LrFactor stairs(int64_t every, double gamma) {
  RequireAtLeastOne("stairs(): every", every);
  RequireAboveZero("stairs(): gamma", gamma);
  return
      [=](int64_t steps, int64_t) { return std::pow(gamma, static_cast<double>(steps / every)); };
}

LrFactor exponential(double gamma) {
  RequireAboveZero("exponential(): gamma", gamma);
  return stairs(1, gamma);
}

LrFactor scaled(double factor, LrFactor then) {
  RequireAboveZero("scaled(): factor", factor);
  return [=, then = std::move(then)](int64_t steps, int64_t max_steps) {
    return factor * then(steps, max_steps);
  };
}

double linear_scaling(int64_t size, int64_t reference) {
  RequireAtLeastOne("linear_scaling(): size", size);
  RequireAtLeastOne("linear_scaling(): reference", reference);
  return static_cast<double>(size) / static_cast<double>(reference);
}

double square_root_scaling(int64_t size, int64_t reference) {
  RequireAtLeastOne("square_root_scaling(): size", size);
  RequireAtLeastOne("square_root_scaling(): reference", reference);
  return std::sqrt(linear_scaling(size, reference));
}

}  // namespace det::lr
