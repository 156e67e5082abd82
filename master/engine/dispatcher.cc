#include "master/engine/dispatcher.h"

#include <variant>

namespace det::engine {

void Dispatcher::Dispatch(const std::vector<cluster::Effect>& effects) {
  for (const cluster::Effect& effect : effects) {
    std::visit([this](const auto& kind) { Deliver(kind); }, effect);
  }
}

void Dispatcher::Deliver(const cluster::StartTask& effect) {
  if (sinks_.agents != nullptr) sinks_.agents->Start(effect);
}

void Dispatcher::Deliver(const cluster::StopTask& effect) {
  if (sinks_.agents != nullptr) sinks_.agents->Stop(effect);
}

void Dispatcher::Deliver(const cluster::AnnounceRendezvous& effect) {
  if (sinks_.trials != nullptr) sinks_.trials->Announce(effect);
}

void Dispatcher::Deliver(const cluster::AnnouncePreemption& effect) {
  if (sinks_.trials != nullptr) sinks_.trials->Announce(effect);
}

void Dispatcher::Deliver(const cluster::CloseAllocation& effect) {
  timers_.Cancel(effect.allocation);
  if (sinks_.trials != nullptr) sinks_.trials->Close(effect);
}

void Dispatcher::Deliver(const cluster::SetDeadline& effect) { timers_.Set(effect); }

void Dispatcher::Deliver(const cluster::ScheduleSoon&) { timers_.ScheduleSoon(); }

void Dispatcher::Deliver(const cluster::SetScheduleTimer& effect) { timers_.Set(effect); }

void Dispatcher::Deliver(const cluster::SetCalendarTimer& effect) { timers_.Set(effect); }

void Dispatcher::Deliver(const cluster::QueueChanged&) {
  if (sinks_.experiments != nullptr) sinks_.experiments->QueueChanged();
}

void Dispatcher::Deliver(const cluster::ExperimentChanged& effect) {
  if (sinks_.experiments != nullptr) sinks_.experiments->Changed(effect.id);
}

void Dispatcher::Deliver(const cluster::TaskChanged& effect) {
  if (sinks_.experiments != nullptr) sinks_.experiments->Changed(effect.id);
}

void Dispatcher::Deliver(const cluster::CollectGarbageSoon&) {
  if (sinks_.gc != nullptr) sinks_.gc->Wake();
}

void Dispatcher::Deliver(const cluster::DeliverWebhooksSoon&) {
  if (sinks_.webhooks != nullptr) sinks_.webhooks->Wake();
}

}  // namespace det::engine
