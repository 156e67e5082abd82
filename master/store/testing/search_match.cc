#include "master/store/testing/search_match.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "master/store/testing/fake_sort.h"

namespace det::store {
namespace {

bool IsEmpty(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return text->empty();
  if (const auto* list = std::get_if<std::vector<std::string>>(&cell)) return list->empty();
  return std::holds_alternative<std::monostate>(cell);
}

bool Contains(const Cell& cell, const std::string& what) {
  if (const auto* list = std::get_if<std::vector<std::string>>(&cell)) {
    return std::find(list->begin(), list->end(), what) != list->end();
  }
  const auto* text = std::get_if<std::string>(&cell);
  return text != nullptr &&
         absl::StrContains(absl::AsciiStrToLower(*text), absl::AsciiStrToLower(what));
}

template <class T>
int Order(const T& a, const T& b) {
  return IsLess(a, b) ? -1 : IsLess(b, a) ? 1 : 0;
}

// Compares values of the same kind: two cells of a column, or a cell and an operand.
int Order(const Cell& a, const Cell& b) {
  return std::visit(
      [&](const auto& x) {
        using T = std::decay_t<decltype(x)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
          return 0;
        } else {
          return Order<T>(x, std::get<T>(b));
        }
      },
      a);
}

// Whether the condition holds for a cell with a value of the operand's kind.
bool Holds(Operator op, const Cell& cell, const Operand& operand) {
  const Cell other = std::visit([](const auto& value) { return Cell(value); }, operand);
  if (cell.index() != other.index()) return false;
  const int order = Order(cell, other);
  switch (op) {
    case Operator::kEqual:
      return order == 0;
    case Operator::kLess:
      return order < 0;
    case Operator::kLessOrEqual:
      return order <= 0;
    case Operator::kGreater:
      return order > 0;
    default:
      return order >= 0;
  }
}

bool Matches(const Condition& condition, const Cell& cell) {
  switch (condition.op) {
    case Operator::kIsEmpty:
      return IsEmpty(cell);
    case Operator::kNotEmpty:
      return !IsEmpty(cell);
    case Operator::kContains:
      return Contains(cell, std::get<std::string>(condition.operand));
    case Operator::kNotContains:
      return !Contains(cell, std::get<std::string>(condition.operand));
    case Operator::kNotEqual:
      return !Holds(Operator::kEqual, cell, condition.operand);
    default:
      return Holds(condition.op, cell, condition.operand);
  }
}

}  // namespace

bool Matches(const Filter& filter, const Cells& row) {
  if (filter.condition) return Matches(*filter.condition, row(filter.condition->column));
  if (filter.parts.empty()) return true;
  const auto matches = [&](const Filter& part) { return Matches(part, row); };
  return filter.any ? std::any_of(filter.parts.begin(), filter.parts.end(), matches)
                    : std::all_of(filter.parts.begin(), filter.parts.end(), matches);
}

int Compare(const Cell& a, const Cell& b, bool descending) {
  const bool has_a = !std::holds_alternative<std::monostate>(a);
  const bool has_b = !std::holds_alternative<std::monostate>(b);
  if (!has_a || !has_b) return has_a ? -1 : has_b ? 1 : 0;
  // A value may be a number in one run and a string in another: numbers come first.
  if (a.index() != b.index()) return a.index() < b.index() ? -1 : 1;
  const int order = Order(a, b);
  return descending ? -order : order;
}

}  // namespace det::store
