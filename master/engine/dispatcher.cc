#include "master/engine/dispatcher.h"

#include <variant>

namespace det::engine {

void Dispatcher::Dispatch(const std::vector<cluster::Effect>& effects) {
  for (const cluster::Effect& effect : effects) {
    std::visit([this](const auto& kind) { Do(kind); }, effect);
  }
}

void Dispatcher::Do(const cluster::StartTask& effect) {
  if (sinks_.agents != nullptr) sinks_.agents->Start(effect);
}

void Dispatcher::Do(const cluster::StopTask& effect) {
  if (sinks_.agents != nullptr) sinks_.agents->Stop(effect);
}

void Dispatcher::Do(const cluster::AnnounceRendezvous& effect) {
  if (sinks_.trials != nullptr) sinks_.trials->Announce(effect);
}

void Dispatcher::Do(const cluster::AnnouncePreemption& effect) {
  if (sinks_.trials != nullptr) sinks_.trials->Announce(effect);
}

void Dispatcher::Do(const cluster::CloseAllocation& effect) {
  timers_.Cancel(effect.allocation);
  if (sinks_.trials != nullptr) sinks_.trials->Close(effect);
}

void Dispatcher::Do(const cluster::SetDeadline& effect) { timers_.Set(effect); }

void Dispatcher::Do(const cluster::ScheduleSoon&) { timers_.ScheduleSoon(); }

void Dispatcher::Do(const cluster::SetScheduleTimer& effect) { timers_.Set(effect); }

void Dispatcher::Do(const cluster::SetCalendarTimer& effect) { timers_.Set(effect); }

void Dispatcher::Do(const cluster::QueueChanged&) {
  if (sinks_.experiments != nullptr) sinks_.experiments->QueueChanged();
}

void Dispatcher::Do(const cluster::ExperimentChanged& effect) {
  if (sinks_.experiments != nullptr) sinks_.experiments->Changed(effect.id);
}

void Dispatcher::Do(const cluster::CollectGarbageSoon&) {
  if (sinks_.sweep != nullptr) sinks_.sweep->Soon();
}

void Dispatcher::Do(const cluster::DeliverWebhooksSoon&) {
  if (sinks_.webhooks != nullptr) sinks_.webhooks->Soon();
}

}  // namespace det::engine
