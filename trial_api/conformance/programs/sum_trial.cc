// Adds up records as a Trial. The weight is the sum divided by the batch size.
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "det/trial.h"
#include <nlohmann/json.hpp>

// The incidents of a program, from the hyperparameter `incidents`. See ../README.md.
class Incidents {
 public:
  explicit Incidents(det::TrialContext& context) : core_(context.core()) {
    const auto hparams = nlohmann::json::parse(context.hparams().ToJson());
    for (const auto& one : hparams.value("incidents", nlohmann::json::array())) {
      if (one.value("rank", core_.ranks().rank) != core_.ranks().rank) continue;
      list_.push_back({one.at("phase"), one.value("steps", kAny), one.at("act")});
    }
  }

  // Runs the incidents of a phase and step. Any thread.
  void Reach(const std::string& phase, int64_t steps) {
    for (const Incident& incident : list_) {
      if (incident.IsAt(phase, steps)) Act(incident.act, phase + " " + std::to_string(steps));
    }
  }

  // Returns the value to report.
  double GetReportedValue(const std::string& phase, int64_t steps, double value) const {
    for (const Incident& incident : list_) {
      if (incident.IsAt(phase, steps) && incident.act == "nan") return std::nan("");
    }
    return value;
  }

 private:
  static constexpr int64_t kAny = -1;
  struct Incident {
    std::string phase;
    int64_t steps;
    std::string act;
    bool IsAt(const std::string& where, int64_t when) const {
      return phase == where && (steps == kAny || steps == when);
    }
  };

  void Act(const std::string& act, const std::string& place) {
    if (act == "hold") {
      PrintLine("holding " + place);
      // Only the chief receives the request; the other ranks learn of it in their next collective
      // operation.
      while (core_.ranks().is_chief() && !core_.preemption().Requested()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
    } else if (act == "settle") {
      core_.checkpoints().FinishSave();
      PrintLine("settling " + place);  // Reports nothing more until the master has everything.
      core_.metrics().Flush();
      core_.communicator().Barrier();
    } else if (act == "die") {
      std::raise(SIGKILL);
    } else if (act == "fail") {
      throw det::Error("failed in " + place + ", as asked");
    } else if (act == "invalid") {
      throw det::InvalidHp("records and slots make no sense together");
    } else if (act == "fill") {
      std::ofstream full("/dev/full");
      full << "a disk without space" << std::flush;
      if (!full) throw std::system_error(errno, std::generic_category(), "/dev/full");
    } else if (act != "nan") {
      throw det::Error("incident '" + act + "' is not known");
    }
  }

  // Writes the line at once, so that lines of threads do not mix. Any thread.
  static void PrintLine(std::string line) {
    line += "\n";
    if (write(STDOUT_FILENO, line.data(), line.size()) < 0) std::abort();
  }

  det::Context& core_;
  std::vector<Incident> list_;
};

// Runs the incidents of phases that happen in callbacks.
class IncidentCallback : public det::Callback {
 public:
  IncidentCallback(std::shared_ptr<Incidents> incidents, const det::TrialContext& context)
      : incidents_(std::move(incidents)), context_(context) {}

  // The training has one epoch.
  void on_training_epoch_end(int64_t) override {
    incidents_->Reach("end", context_.steps_completed() + 1);
  }
  void on_checkpoint_write_end(int64_t steps, const std::string&) override {
    incidents_->Reach("save", steps);
  }

 private:
  const std::shared_ptr<Incidents> incidents_;
  const det::TrialContext& context_;
};

class SumTrial : public det::Trial {
 public:
  explicit SumTrial(det::TrialContext& context)
      : context_(context),
        length_(context.core().training().max_length->count),
        net_(context.wrap_model(torch::nn::Linear(torch::nn::LinearOptions(1, 1).bias(false)))),
        sgd_(context.wrap_optimizer(torch::optim::SGD(net_->parameters(), 1.0))),
        incidents_(std::make_shared<Incidents>(context)) {
    torch::nn::init::zeros_(net_->weight);
    incidents_->Reach("begin", 0);
  }

  det::DataLoader build_training_data_loader() override {
    const int64_t records = length_ * context_.global_batch_size();
    return {det::TensorDataset({torch::arange(records, torch::kFloat32).unsqueeze(1)}),
            {.shuffle = false}};
  }
  det::DataLoader build_validation_data_loader() override {
    return {det::TensorDataset({torch::zeros({2, 1})}), {.global_batch_size = 2}};
  }
  det::Callbacks build_callbacks() override {
    return {{"incidents", std::make_shared<IncidentCallback>(incidents_, context_)}};
  }

  det::BatchMetrics train_batch(const det::Batch& batch, int64_t, int64_t) override {
    const int64_t steps = context_.steps_completed() + 1;
    incidents_->Reach("batch", steps);
    context_.backward(-net_(batch.data()).mean());
    context_.step_optimizer(sgd_);
    return {{"sum", incidents_->GetReportedValue("batch", steps, Total())}};
  }
  det::BatchMetrics evaluate_batch(const det::Batch&) override {
    const int64_t steps = context_.steps_completed();
    incidents_->Reach("validate", steps);
    return {{"sum", incidents_->GetReportedValue("validate", steps, Total())}};
  }

 private:
  double Total() const {
    return net_->weight.item<double>() * static_cast<double>(context_.global_batch_size());
  }

  det::TrialContext& context_;
  const int64_t length_;
  torch::nn::Linear net_;
  const std::shared_ptr<torch::optim::SGD> sgd_;
  const std::shared_ptr<Incidents> incidents_;
};
