// Learning rates as functions of the progress of the training. They have no state: a resumed run
// has the same rates as an uninterrupted one, on any number of slots.
//
//   adam_ = context.wrap_optimizer(torch::optim::Adam(net_->parameters(), 0.001));
//   context.schedule_lr(adam_, det::lr::warmup(500, det::lr::cosine()));
//
// Any thread. Functions throw Error if an argument is outside its documented range.
#ifndef TRIAL_API_CPP_TORCH_LR_SCHEDULE_H_
#define TRIAL_API_CPP_TORCH_LR_SCHEDULE_H_

#include <cstdint>
#include <functional>

namespace det {

// A function that returns the factor of the initial learning rate for the batch after `steps` of
// `max_steps` batches. User-defined functions are allowed.
using LrFactor = std::function<double(int64_t steps, int64_t max_steps)>;

namespace lr {

// Always 1.
LrFactor constant();
// Grows linearly from `from` to 1, which is reached at batch number `steps`, then follows `then`,
// which counts from there. For large batches: Goyal et al., "Accurate, Large Minibatch SGD", 2017,
// section 2.2.
LrFactor warmup(int64_t steps, LrFactor then = constant(), double from = 0.0);
// Half a cosine wave from 1 down to `to` at the end of training: Loshchilov and Hutter, "SGDR",
// 2017, without restarts.
LrFactor cosine(double to = 0.0);
// to + (1 - to) * (1 - steps / max_steps) ^ power; power must be above 0; 1 gives a straight line.
LrFactor polynomial(double power = 1.0, double to = 0.0);
// gamma ^ (steps / every), with integer division; `every` must be at least 1.
LrFactor stairs(int64_t every, double gamma);
// gamma ^ steps.
LrFactor exponential(double gamma);
// `factor` times `then`.
LrFactor scaled(double factor, LrFactor then = constant());

// Returns the factor for a learning rate that was tuned for batches of `reference` records when
// batches have `size` records: proportional (Goyal et al., section 2.1), or with the square root,
// which keeps the variance of the steps (Krizhevsky, "One weird trick", 2014, section 5). Both
// sizes must be at least 1.
double linear_scaling(int64_t size, int64_t reference);
double square_root_scaling(int64_t size, int64_t reference);

}  // namespace lr
}  // namespace det

#endif  // TRIAL_API_CPP_TORCH_LR_SCHEDULE_H_
