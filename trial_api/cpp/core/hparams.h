// The hyperparameters that the searcher chose for this trial. Dots separate the names of nested
// ones: hparams.Get<int>("layers.width").
//
// Immutable; any thread.
#ifndef TRIAL_API_CPP_CORE_HPARAMS_H_
#define TRIAL_API_CPP_CORE_HPARAMS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace det {

class Hparams {
 public:
  // Parses a JSON object. Throws Error if `json` is not one.
  explicit Hparams(std::string_view json = "{}");

  bool Has(std::string_view name) const;
  // Returns a hyperparameter. T is bool, int, int64_t, float, double or std::string. Throws
  // InvalidHp with the name if the hyperparameter is missing or has another type (an integer can be
  // read as a floating-point number).
  template <class T>
  T Get(std::string_view name) const;
  template <class T>
  T GetOr(std::string_view name, T fallback) const {
    return Has(name) ? Get<T>(name) : fallback;
  }
  std::string ToJson() const;

 private:
  struct Rep;
  std::shared_ptr<const Rep> rep_;
};

template <>
bool Hparams::Get<bool>(std::string_view) const;
template <>
int Hparams::Get<int>(std::string_view) const;
template <>
int64_t Hparams::Get<int64_t>(std::string_view) const;
template <>
float Hparams::Get<float>(std::string_view) const;
template <>
double Hparams::Get<double>(std::string_view) const;
template <>
std::string Hparams::Get<std::string>(std::string_view) const;

}  // namespace det

#endif  // TRIAL_API_CPP_CORE_HPARAMS_H_
