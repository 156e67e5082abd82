#include "master/core/searcher/journal.h"

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace det::searcher {
namespace {

using model::RequestId;
using model::Value;

struct NamedEnd {
  TrialEnd end;
  const char* name;
};
constexpr NamedEnd kEnds[] = {{TrialEnd::kCompleted, "completed"},
                              {TrialEnd::kFailed, "failed"},
                              {TrialEnd::kInvalidHp, "invalid_hp"},
                              {TrialEnd::kCanceled, "canceled"}};

const char* EndText(TrialEnd end) {
  for (const NamedEnd& named : kEnds) {
    if (named.end == end) return named.name;
  }
  return "failed";
}

// Reads the elements of a list in order and remembers the first invalid one.
class Reader {
 public:
  explicit Reader(const Value& value)
      : value_(value), list_(value.AsList()), good_(list_ != nullptr) {}

  std::string Text() {
    const Value* value = Next();
    if (value != nullptr && value->AsString() != nullptr) return *value->AsString();
    Fail();
    return "";
  }
  int64_t Int() {
    const Value* value = Next();
    if (value != nullptr && value->AsInt() != nullptr) return *value->AsInt();
    Fail();
    return 0;
  }
  bool Bool() {
    const Value* value = Next();
    if (value != nullptr && value->AsBool() != nullptr) return *value->AsBool();
    Fail();
    return false;
  }
  // JSON has no NaN and no infinities: they are strings.
  double Number() { return ToNumber(Next()); }
  std::vector<double> Numbers() {
    std::vector<double> numbers;
    for (const Value& value : List()) numbers.push_back(ToNumber(&value));
    return numbers;
  }
  const Value::List& List() {
    static const Value::List kNone;
    const Value* value = Next();
    if (value != nullptr && value->AsList() != nullptr) return *value->AsList();
    Fail();
    return kNone;
  }
  Value::Object Object() {
    const Value* value = Next();
    if (value != nullptr && value->AsObject() != nullptr) return *value->AsObject();
    Fail();
    return {};
  }
  std::optional<std::string> OptionalText() {
    if (list_ != nullptr && next_ < list_->size() && (*list_)[next_].is_null()) {
      ++next_;
      return std::nullopt;
    }
    return Text();
  }
  void Fail() { good_ = false; }

  // OK if all elements were valid and there are no others.
  absl::Status status() const {
    if (good_ && next_ == list_->size()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("searcher journal: cannot read ", value_.ToJson()));
  }

 private:
  const Value* Next() {
    return list_ != nullptr && next_ < list_->size() ? &(*list_)[next_++] : nullptr;
  }
  double ToNumber(const Value* value) {
    if (value != nullptr && value->AsString() != nullptr) {
      const std::string& text = *value->AsString();
      if (text == "NaN") return std::nan("");
      if (text == "Infinity") return std::numeric_limits<double>::infinity();
      if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
    }
    const std::optional<double> number = value == nullptr ? std::nullopt : value->AsNumber();
    if (!number) Fail();
    return number.value_or(0);
  }

  const Value& value_;
  const Value::List* const list_;
  size_t next_ = 0;
  bool good_;
};

// Converts to the JSON form, so that a value is equal before and after serialization.
Value EndText(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number > 0 ? "Infinity" : "-Infinity";
  return number;
}

struct EventToValue {
  Value operator()(const TrialCreated& e) const {
    return Value::List{"created", e.request.value()};
  }
  Value operator()(const ValidationReported& e) const {
    Value::List metrics;
    for (const double metric : e.metrics) metrics.push_back(EndText(metric));
    return Value::List{"validation", e.request.value(), e.steps_completed, EndText(e.length),
                       std::move(metrics)};
  }
  Value operator()(const TrialExited& e) const {
    return Value::List{"exited", e.request.value(), EndText(e.end)};
  }
  Value operator()(const OperationsPosted& e) const {
    Value::List operations;
    for (const Operation& operation : e.operations) operations.push_back(ToValue(operation));
    return Value::List{"posted", e.id, e.events_read, std::move(operations)};
  }
};

struct OperationToValue {
  Value operator()(const CreateTrial& o) const {
    return Value::List{"create", o.request.value(), static_cast<int64_t>(o.seed), o.hparams,
                       o.parent ? Value(o.parent->value()) : Value()};
  }
  Value operator()(const StopTrial& o) const { return Value::List{"stop", o.request.value()}; }
  Value operator()(const PauseTrial& o) const { return Value::List{"pause", o.request.value()}; }
  Value operator()(const ResumeTrial& o) const { return Value::List{"resume", o.request.value()}; }
  Value operator()(const Shutdown& o) const {
    return Value::List{"shutdown", o.failed, o.canceled};
  }
};

TrialExited ReadExited(Reader& reader) {
  TrialExited event{RequestId(reader.Text()), TrialEnd::kFailed};
  const std::string name = reader.Text();
  for (const NamedEnd& named : kEnds) {
    if (name != named.name) continue;
    event.end = named.end;
    return event;
  }
  reader.Fail();
  return event;
}

ValidationReported ReadValidation(Reader& reader) {
  ValidationReported event{.request = RequestId(reader.Text()), .metrics = {}};
  event.steps_completed = reader.Int();
  event.length = reader.Number();
  event.metrics = reader.Numbers();
  return event;
}

CreateTrial ReadCreate(Reader& reader) {
  CreateTrial create;
  create.request = RequestId(reader.Text());
  create.seed = static_cast<uint32_t>(reader.Int());
  create.hparams = reader.Object();
  if (auto parent = reader.OptionalText()) create.parent = RequestId(*std::move(parent));
  return create;
}

absl::StatusOr<OperationsPosted> ReadPosted(Reader& reader) {
  OperationsPosted event{.id = reader.Text(), .events_read = 0, .operations = {}};
  event.events_read = reader.Int();
  for (const Value& value : reader.List()) {
    DET_ASSIGN_OR_RETURN(Operation operation, OperationFromValue(value));
    event.operations.push_back(std::move(operation));
  }
  return event;
}

}  // namespace

Value ToValue(const Event& event) { return std::visit(EventToValue(), event); }
Value ToValue(const Operation& operation) { return std::visit(OperationToValue(), operation); }

absl::StatusOr<Event> EventFromValue(const Value& value) {
  Reader reader(value);
  const std::string kind = reader.Text();
  Event event;
  if (kind == "created") {
    event = TrialCreated{RequestId(reader.Text())};
  } else if (kind == "validation") {
    event = ReadValidation(reader);
  } else if (kind == "exited") {
    event = ReadExited(reader);
  } else if (kind == "posted") {
    DET_ASSIGN_OR_RETURN(event, ReadPosted(reader));
  } else {
    reader.Fail();
  }
  DET_RETURN_IF_ERROR(reader.status());
  return event;
}

absl::StatusOr<Operation> OperationFromValue(const Value& value) {
  Reader reader(value);
  const std::string kind = reader.Text();
  Operation operation = Shutdown{};
  if (kind == "create") {
    operation = ReadCreate(reader);
  } else if (kind == "stop") {
    operation = StopTrial{RequestId(reader.Text())};
  } else if (kind == "pause") {
    operation = PauseTrial{RequestId(reader.Text())};
  } else if (kind == "resume") {
    operation = ResumeTrial{RequestId(reader.Text())};
  } else if (kind == "shutdown") {
    Shutdown shutdown;
    shutdown.failed = reader.Bool();
    shutdown.canceled = reader.Bool();
    operation = shutdown;
  } else {
    reader.Fail();
  }
  DET_RETURN_IF_ERROR(reader.status());
  return operation;
}

}  // namespace det::searcher
