// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Random kernels with one mistake or none: the checks find the mistake, with the place, and let the
// kernels without a mistake pass with equal results and an equal log.
#include "belfry/belfry.h"
#include "belfry/launch.h"
#include "belfry/sim/backend.h"
#include "belfry/testing/asserts.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace belfry::sim::checked_body_props_test {
namespace {

enum class Mistake : std::uint8_t {
  kNone,
  kChangesInput,
  kWritesBefore,
  kWritesBehind,
  kReadsBefore,
  kReadsBehind,
  kLeavesElement,
  kReadsWritten,
  kReadsScratch,
  kCountsCalls,
};
constexpr int kMistakes = 10;

/// A launch of a kernel with the operands x (reads), y (updates), z (writes) and scratch memory, in
/// this order: y = 3 y + x + 1, z = x + 2 y.
struct Drawn {
  Mistake mistake = Mistake::kNone;
  std::size_t count = 1;     // Of x, y and z.
  std::size_t element = 0;   // Of the mistake.
  std::size_t distance = 0;  // From the operand, of an access outside, in elements.
  std::vector<int> x;        // As many as `count`.
  std::vector<int> y;        // As many as `count`.
  bool shares_copies = false;
};

void showValue(const Drawn& drawn, std::ostream& out) {
  out << "mistake " << static_cast<int>(drawn.mistake) << " at element " << drawn.element << " of "
      << drawn.count << ", " << drawn.distance << " from the operand";
}

template <class T>
struct Step {
  Mistake mistake;
  std::size_t at;
  std::size_t distance;
  int* calls;

  void on_host(std::span<const T> x, std::span<T> y, std::span<T> z,
               std::span<std::byte> memory) const {
    const std::span<T> more(reinterpret_cast<T*>(memory.data()), x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const bool here = i == at;
      if (!here || mistake != Mistake::kReadsScratch) more[i] = static_cast<T>(x[i] + T{1});
      y[i] = static_cast<T>(T{3} * y[i] + more[i]);
      if (!here || mistake != Mistake::kLeavesElement) set(z[i], x[i], y[i], here);
    }
    ++*calls;
    reach_outside(x, y, z);
  }

 private:
  void set(T& z, T x, T y, bool here) const {
    if (here && mistake == Mistake::kReadsWritten) {
      z = static_cast<T>(T{2} * z);
    } else if (here && mistake == Mistake::kCountsCalls) {
      z = static_cast<T>(*calls);
    } else {
      z = static_cast<T>(x + T{2} * y);
    }
  }
  void reach_outside(std::span<const T> x, std::span<T> y, std::span<T> z) const {
    const T* const behind = x.data() + x.size() + distance;
    const T* const before = x.data() - 1 - distance;
    if (mistake == Mistake::kChangesInput) const_cast<T&>(x[at]) = static_cast<T>(x[at] + T{1});
    if (mistake == Mistake::kWritesBefore) *(y.data() - 1 - distance) = x[at];
    if (mistake == Mistake::kWritesBehind) *(y.data() + y.size() + distance) = x[at];
    if (mistake == Mistake::kReadsBefore) z[at] = *before;
    if (mistake == Mistake::kReadsBehind) z[at] = *behind;
  }
};

rc::Gen<Drawn> launches() {
  using Numbers = std::tuple<int, std::size_t, std::size_t, std::size_t, bool>;
  const auto numbers =
      rc::gen::tuple(rc::gen::inRange(0, kMistakes), rc::gen::inRange<std::size_t>(1, 40),
                     rc::gen::inRange<std::size_t>(0, 1000), rc::gen::inRange<std::size_t>(0, 60),
                     rc::gen::arbitrary<bool>());
  return rc::gen::mapcat(numbers, [](const Numbers& number) {
    const auto [mistake, count, element, distance, shares_copies] = number;
    const auto row = rc::gen::container<std::vector<int>>(count, rc::gen::inRange(1, 20));
    const Drawn drawn{
        static_cast<Mistake>(mistake), count, element % count, distance, {}, {}, shares_copies};
    return rc::gen::map(rc::gen::pair(row, row), [drawn](const auto& rows) {
      Drawn whole = drawn;
      whole.x = rows.first;
      whole.y = rows.second;
      return whole;
    });
  });
}

template <class T>
struct Outcome {
  std::optional<ErrorReport> report;
  std::vector<T> x;
  std::vector<T> y;
  std::vector<T> z;
  std::uint64_t hash = 0;
};

template <class T>
Outcome<T> outcome_of(const Drawn& drawn, bool check_kernels) {
  Backend backend({.devices = 1,
                   .share_copies = drawn.shares_copies,
                   .digests = Digests::kAll,
                   .check_kernels = check_kernels});
  const Placement on{&backend, 0};
  const Shape shape{static_cast<std::int64_t>(drawn.count)};
  const auto tensor = [&](const std::vector<int>& row) {
    return Tensor<T>::from(shape, std::vector<T>(row.begin(), row.end()), on);
  };
  const auto x = tensor(drawn.x);
  auto y = tensor(drawn.y);
  auto z = Tensor<T>::uninitialised(shape, on);
  int calls = 0;
  Outcome<T> outcome;
  launch(Step<T>{drawn.mistake, drawn.element, drawn.distance, &calls}, reads(x), updates(y),
         writes(z), scratch(drawn.count * sizeof(T)));
  try {
    outcome.y = y.to_host();
    outcome.z = z.to_host();
  } catch (const DeviceError& error) {
    outcome.report = error.report();
  }
  outcome.hash = backend.log().hash();
  outcome.x = x.to_host();
  return outcome;
}

// The report that the mistake deserves, without the name of the kernel.
template <class T>
std::pair<ErrorCode, std::string> expected(const Drawn& drawn) {
  const auto n = static_cast<std::int64_t>(drawn.count);
  const auto away = static_cast<std::int64_t>(drawn.distance);
  const std::string size = std::to_string(n) + " x " + to_string(dtype_of<T>()) + ")";
  const std::string x = "operand 0 (reads, " + size;
  const std::string y = "operand 1 (updates, " + size;
  const std::string z = "operand 2 (writes, " + size;
  const std::string memory =
      "operand 3 (scratch, " + std::to_string(drawn.count * sizeof(T)) + " x uint8)";
  const auto element = [](std::int64_t i) { return "element " + std::to_string(i) + " of "; };
  const std::string here = element(static_cast<std::int64_t>(drawn.element));
  switch (drawn.mistake) {
    case Mistake::kChangesInput:
      return {ErrorCode::kOutOfBounds,
              "the body changes " + here + x + ", and the launch declares no change"};
    case Mistake::kWritesBefore:
      return {ErrorCode::kOutOfBounds,
              "the body writes " + element(-1 - away) + y + ", outside of the operand"};
    case Mistake::kWritesBehind:
      return {ErrorCode::kOutOfBounds,
              "the body writes " + element(n + away) + y + ", outside of the operand"};
    case Mistake::kReadsBefore:
    case Mistake::kReadsBehind:
      return {ErrorCode::kOutOfBounds, here + z + " depends on memory outside of " + x};
    case Mistake::kLeavesElement:
      return {ErrorCode::kUninitialised, "the body leaves " + here + z + " unwritten"};
    case Mistake::kReadsWritten:
      return {ErrorCode::kUninitialised,
              here + z + " depends on the contents of the operand before the body"};
    case Mistake::kReadsScratch:
      return {ErrorCode::kUninitialised,
              here + y + " depends on the contents of " + memory + " before the body"};
    case Mistake::kCountsCalls:
      return {ErrorCode::kNotDeterministic,
              here + z + " has other bits if the body runs again with equal operands"};
    case Mistake::kNone:
      break;
  }
  return {};
}

template <class T>
void holds_for(const Drawn& drawn) {
  const Outcome<T> checked = outcome_of<T>(drawn, true);
  RC_ASSERT(checked.x == std::vector<T>(drawn.x.begin(), drawn.x.end()));
  if (drawn.mistake != Mistake::kNone) {
    RC_ASSERT(checked.report.has_value());
    const auto [code, text] = expected<T>(drawn);
    RC_ASSERT(checked.report->code == code);
    RC_ASSERT(checked.report->summary == "kernel Step: " + text);
    return;
  }
  RC_ASSERT(!checked.report.has_value());
  for (std::size_t i = 0; i < drawn.count; ++i) {
    const auto y = static_cast<T>(3 * drawn.y[i] + drawn.x[i] + 1);
    RC_ASSERT(checked.y[i] == y);
    RC_ASSERT(checked.z[i] == static_cast<T>(drawn.x[i] + 2 * (3 * drawn.y[i] + drawn.x[i] + 1)));
  }
  RC_ASSERT(checked.hash == outcome_of<T>(drawn, false).hash);
}

RC_GTEST_PROP(CheckedKernelsProps, FindTheMistakeOfARandomKernelAndNoneInACorrectOne, ()) {
  belfry::testing::asserts("SEM-174");
  const Drawn drawn = *launches();
  switch (*rc::gen::inRange(0, 5)) {
    case 0:
      return holds_for<float>(drawn);
    case 1:
      return holds_for<double>(drawn);
    case 2:
      return holds_for<std::uint8_t>(drawn);
    case 3:
      return holds_for<std::uint32_t>(drawn);
    default:
      return holds_for<std::uint64_t>(drawn);
  }
}

}  // namespace
}  // namespace belfry::sim::checked_body_props_test
