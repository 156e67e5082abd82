// API services that echo their requests. Used by tests of the gateway, on gRPC's threads.
#ifndef MASTER_GATEWAY_TESTING_FAKE_SERVICES_H_
#define MASTER_GATEWAY_TESTING_FAKE_SERVICES_H_

#include <future>
#include <string>

#include "det/api/v1/experiment.grpc.pb.h"
#include "det/api/v1/usage.grpc.pb.h"
#include <grpcpp/grpcpp.h>

namespace det::gateway {

namespace api = det::api::v1;

inline std::string Long() { return std::string(2000, 'n'); }

// Echoes the request and its metadata, so that tests see what arrived. Experiment 100 waits until
// the client disconnects.
class FakeExperiments final : public api::ExperimentService::CallbackService {
 public:
  grpc::ServerUnaryReactor* GetExperiment(grpc::CallbackServerContext* context,
                                          const api::GetExperimentRequest* request,
                                          api::GetExperimentResponse* response) override {
    if (request->experiment_id() == 100) return new Wait(this);
    auto* reactor = context->DefaultReactor();
    if (request->experiment_id() == 404) {
      reactor->Finish({grpc::StatusCode::NOT_FOUND, "experiment 404 not found"});
      return reactor;
    }
    response->mutable_experiment()->set_id(request->experiment_id());
    if (request->experiment_id() == 429) {
      context->AddTrailingMetadata("retry-after", "7");
      reactor->Finish({grpc::StatusCode::RESOURCE_EXHAUSTED, "slower"});
      return reactor;
    }
    if (request->experiment_id() == 2000) response->mutable_experiment()->set_notes(Long());
    const auto metadata = [context](const char* key) {
      const auto it = context->client_metadata().find(key);
      return it == context->client_metadata().end()
                 ? std::string()
                 : std::string(it->second.data(), it->second.size());
    };
    response->mutable_experiment()->set_name(metadata("authorization"));
    response->mutable_experiment()->set_original_config(metadata("x-authorization-ticket"));
    response->mutable_experiment()->set_description(
        metadata("x-request-id") + " " + metadata("x-peer") + " " + metadata("idempotency-key"));
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  grpc::ServerUnaryReactor* CreateExperiment(grpc::CallbackServerContext* context,
                                             const api::CreateExperimentRequest* request,
                                             api::CreateExperimentResponse* response) override {
    response->mutable_experiment()->set_original_config(request->config());
    response->mutable_experiment()->set_model_definition_size(
        request->model_definition_size() == 0
            ? 0
            : static_cast<int>(request->model_definition(0).content().size()));
    auto* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  // Sends as many messages as the id, then ends; 100: one message, then waits until the client
  // disconnects; 7: two messages, then an error.
  grpc::ServerWriteReactor<api::WatchExperimentResponse>* WatchExperiment(
      grpc::CallbackServerContext*, const api::WatchExperimentRequest* request) override {
    class Stream final : public grpc::ServerWriteReactor<api::WatchExperimentResponse> {
     public:
      Stream(FakeExperiments* fake, int id) : fake_(fake), id_(id) { Go(); }
      void OnWriteDone(bool) override { Go(); }
      void OnCancel() override {
        if (id_ == 100) Finish(grpc::Status::CANCELLED);
        fake_->canceled.set_value();
      }
      void OnDone() override { delete this; }

     private:
      void Go() {
        const int count = id_ == 100 ? 1 : id_ == 7 ? 2 : id_;
        if (sent_ == count) {
          if (id_ == 100) return;
          Finish(id_ == 7 ? grpc::Status(grpc::StatusCode::ABORTED, "enough") : grpc::Status::OK);
          return;
        }
        message_.mutable_experiment()->set_id(++sent_);
        StartWrite(&message_);
      }
      FakeExperiments* const fake_;
      const int id_;
      int sent_ = 0;
      api::WatchExperimentResponse message_;
    };
    if (request->experiment_id() == 404) {
      class Refusal final : public grpc::ServerWriteReactor<api::WatchExperimentResponse> {
       public:
        Refusal() { Finish({grpc::StatusCode::NOT_FOUND, "experiment 404 not found"}); }
        void OnDone() override { delete this; }
      };
      return new Refusal;
    }
    return new Stream(this, request->experiment_id());
  }

  std::promise<void> waiting;
  std::promise<void> canceled;

 private:
  class Wait final : public grpc::ServerUnaryReactor {
   public:
    explicit Wait(FakeExperiments* fake) : fake_(fake) { fake_->waiting.set_value(); }
    void OnCancel() override {
      Finish(grpc::Status::CANCELLED);
      fake_->canceled.set_value();
    }
    void OnDone() override { delete this; }

   private:
    FakeExperiments* const fake_;
  };
};

// Returns a body that is not JSON.
class FakeUsage final : public api::UsageService::CallbackService {
 public:
  grpc::ServerUnaryReactor* ExportResourceAllocationRaw(
      grpc::CallbackServerContext* context, const api::ResourceAllocationRawRequest* request,
      google::api::HttpBody* response) override {
    response->set_content_type("text/csv");
    response->set_data("after\n" + request->timestamp_after() + "\n");
    auto* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

}  // namespace det::gateway

#endif  // MASTER_GATEWAY_TESTING_FAKE_SERVICES_H_
