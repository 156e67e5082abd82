// Learning rates as functions of how far training is. There is no state: a resumed run has the
// rates of the uninterrupted one, on however many slots.
//
//   adam_ = context.wrap_optimizer(torch::optim::Adam(net_->parameters(), 0.001));
//   context.schedule_lr(adam_, det::lr::warmup(500, det::lr::cosine()));
//
// Functions, for any thread. They throw Error when an argument is outside of what is said here.
#ifndef TRIAL_API_CPP_TORCH_LR_SCHEDULE_H_
#define TRIAL_API_CPP_TORCH_LR_SCHEDULE_H_

#include <cstdint>
#include <functional>

namespace det {

// What the rate that the optimizer was made with is multiplied by, for the batch that comes after
// `steps` of `max_steps` batches. Any function of the user's own will do.
using LrFactor = std::function<double(int64_t steps, int64_t max_steps)>;

namespace lr {

// 1 for ever.
LrFactor constant();
// Grows in equal parts from `from` to 1, which the batch number `steps` has, then as `then` says,
// which counts from there. For large batches: Goyal et al., "Accurate, Large Minibatch SGD", 2017,
// section 2.2.
LrFactor warmup(int64_t steps, LrFactor then = constant(), double from = 0.0);
// Half a wave of a cosine from 1 down to `to` at the end of training: Loshchilov and Hutter,
// "SGDR", 2017, without restarts.
LrFactor cosine(double to = 0.0);
// to + (1 - to) * (1 - steps / max_steps) ^ power; power above 0, 1 being a straight line.
LrFactor polynomial(double power = 1.0, double to = 0.0);
// gamma ^ (steps / every), in whole stairs; `every` at least 1.
LrFactor stairs(int64_t every, double gamma);
// gamma ^ steps.
LrFactor exponential(double gamma);
// `factor` times `then`.
LrFactor scaled(double factor, LrFactor then = constant());

// By what the rate found for batches of `reference` records is multiplied for batches of `size`:
// in proportion (Goyal et al., section 2.1), or with the square root, which keeps the variance of
// the steps (Krizhevsky, "One weird trick", 2014, section 5). Both sizes at least 1.
double linear_scaling(int64_t size, int64_t reference);
double square_root_scaling(int64_t size, int64_t reference);

}  // namespace lr
}  // namespace det

#endif  // TRIAL_API_CPP_TORCH_LR_SCHEDULE_H_
