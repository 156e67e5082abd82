#include "trial_api/cpp/torch/metrics_sum.h"

#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "trial_api/cpp/core/error.h"

namespace det::trial {

void MetricsSum::Add(const BatchMetrics& metrics, double weight) {
  for (const auto& [name, metric] : metrics) {
    const torch::Tensor value = metric.tensor().detach();
    if (value.numel() == 0) throw Error("metric \"" + name + "\" has no elements");
    if (name.empty() || name.find('\n') != std::string::npos) {
      throw Error("metric \"" + name + "\": a name is one line of text");
    }
    Entry& entry = entries_[name];
    entry.pending.push_back(value.numel() == 1 ? value : value.to(torch::kFloat64).mean());
    entry.pending_weights.push_back(weight);
  }
}

void MetricsSum::Clear() { entries_.clear(); }

void MetricsSum::AddPending() {
  for (auto& [name, entry] : entries_) {
    for (size_t i = 0; i < entry.pending.size(); ++i) {
      entry.sum += entry.pending[i].item<double>() * entry.pending_weights[i];
      entry.weight += entry.pending_weights[i];
    }
    entry.pending.clear();
    entry.pending_weights.clear();
  }
}

// The format is one line per metric: sum and weight as hexadecimal floating-point numbers, which
// preserve every bit, then the name.
std::string MetricsSum::ToText() {
  AddPending();
  std::string text;
  for (const auto& [name, entry] : entries_) {
    char numbers[80];
    std::snprintf(numbers, sizeof numbers, "%a %a ", entry.sum, entry.weight);
    text += numbers + name + "\n";
  }
  return text;
}

void MetricsSum::AddText(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    char* after_sum = nullptr;
    const double sum = std::strtod(line.c_str(), &after_sum);
    char* after_weight = nullptr;
    const double weight = std::strtod(after_sum, &after_weight);
    if (after_weight == after_sum || *after_weight != ' ' || after_weight[1] == '\0') {
      throw Error("damaged sums of metrics: \"" + line + "\"");
    }
    Entry& entry = entries_[after_weight + 1];
    entry.sum += sum;
    entry.weight += weight;
  }
}

MetricMap MetricsSum::Mean(Communicator& communicator) {
  MetricsSum all;
  // In order of rank, so that every rank rounds in the same way.
  for (const std::string& part : communicator.AllGather(ToText())) all.AddText(part);
  MetricMap means;
  for (const auto& [name, entry] : all.entries_) means[name] = entry.sum / entry.weight;
  return means;
}

}  // namespace det::trial
