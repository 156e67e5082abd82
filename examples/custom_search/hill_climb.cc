// Controls a search from outside with gRPC: hill climbing, always from the best point so far.
//
//   hill_climb localhost:8080 EXPERIMENT [TRIALS]      DET_USER_TOKEN: token of the user
//
// Like random_search.py, it can be killed and restarted: it reads all events again, and a trial
// that is requested twice is created once.
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <string>

#include "det/api/v1/search.grpc.pb.h"
#include <grpcpp/grpcpp.h>

namespace api = det::api::v1;

class HillClimb {
 public:
  HillClimb(const std::string& master, int experiment, int trials)
      : stub_(api::SearchService::NewStub(
            grpc::CreateChannel(master, grpc::InsecureChannelCredentials()))),
        experiment_(experiment),
        trials_(trials) {}

  grpc::Status Run() {
    grpc::ClientContext context;
    Authorize(context);
    api::WatchSearcherEventsRequest request;
    request.set_experiment_id(experiment_);
    request.set_follow(true);
    const auto events = stub_->WatchSearcherEvents(&context, request);
    api::SearcherEvent event;
    while (events->Read(&event)) {
      ReadEvent(event.event());
      const grpc::Status posted = Post(event.id());
      if (!posted.ok()) return posted;
    }
    std::cout << "best: x = " << best_x_ << ", loss = " << best_loss_ << "\n";
    return events->Finish();
  }

 private:
  static void Authorize(grpc::ClientContext& context) {
    const char* token = std::getenv("DET_USER_TOKEN");
    if (token != nullptr) context.AddMetadata("authorization", std::string("Bearer ") + token);
  }

  void ReadEvent(const google::protobuf::Struct& event) {
    const auto& fields = event.fields();
    const std::string& type = fields.at("type").string_value();
    if (type == "search_started") return;
    const int number = std::stoi(fields.at("request").string_value());
    if (type == "trial_created") requested_ = std::max(requested_, number);
    if (type == "trial_exited") ++ended_;
    if (type != "validation") return;
    const double loss = fields.at("metrics").struct_value().fields().at("loss").number_value();
    if (loss >= best_loss_) return;
    best_loss_ = loss;
    best_x_ = points_[number];
  }

  // Requests one trial at a time, near the best; the same number always gets the same step.
  grpc::Status Post(int64_t event) {
    api::PostSearcherOperationsRequest request;
    request.set_experiment_id(experiment_);
    request.set_id("after-" + std::to_string(event));
    if (requested_ == ended_ && requested_ < trials_) {
      const int number = ++requested_;
      std::mt19937 dice(static_cast<unsigned>(number));
      points_[number] = best_x_ + std::normal_distribution<double>(0, 1)(dice);
      auto* create = request.add_operations()->mutable_create_trial();
      create->set_request_id(std::to_string(number));
      (*create->mutable_hparams()->mutable_fields())["x"].set_number_value(points_[number]);
    } else if (ended_ == trials_) {
      request.add_operations()->mutable_shutdown();
    } else {
      return grpc::Status::OK;
    }
    grpc::ClientContext context;
    Authorize(context);
    api::PostSearcherOperationsResponse response;
    return stub_->PostSearcherOperations(&context, request, &response);
  }

  const std::unique_ptr<api::SearchService::Stub> stub_;
  const int experiment_;
  const int trials_;
  int requested_ = 0;
  int ended_ = 0;
  std::map<int, double> points_;
  double best_x_ = 0;
  double best_loss_ = 1e300;
};

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: hill_climb HOST:PORT EXPERIMENT [TRIALS]\n";
    return 2;
  }
  const int trials = argc > 3 ? std::atoi(argv[3]) : 10;
  const grpc::Status end = HillClimb(argv[1], std::atoi(argv[2]), trials).Run();
  if (end.ok()) return 0;
  std::cerr << "hill_climb: " << end.error_message() << "\n";
  return 1;
}
