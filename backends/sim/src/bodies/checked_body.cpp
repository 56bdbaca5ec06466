// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "bodies/checked_body.h"

#include "belfry/error.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>

namespace belfry::sim {
namespace {

[[noreturn]] void fail(ErrorCode code, std::string summary, std::string hint) {
  throw DeviceError(code, std::move(summary), std::move(hint));
}

// `element 3 of operand 1 (updates, 4 x float32)`.
std::string text_of(std::int64_t element, const DeclaredOperand& operand) {
  return "element " + std::to_string(element) + " of " + to_string(operand);
}

[[noreturn]] void throw_written_outside(std::int64_t element, const DeclaredOperand& operand) {
  fail(ErrorCode::kOutOfBounds,
       "the body writes " + text_of(element, operand) + ", outside of the operand",
       "compare indices with the size of the span: the first element is element 0");
}

[[noreturn]] void throw_changed_input(std::size_t element, const DeclaredOperand& operand) {
  fail(ErrorCode::kOutOfBounds,
       "the body changes " + text_of(static_cast<std::int64_t>(element), operand) +
           ", and the launch declares no change",
       "write updates(tensor) for a tensor that the kernel changes");
}

std::span<const std::byte> bytes_at(std::span<const std::byte> contents, std::size_t element,
                                    const DeclaredOperand& operand) {
  return contents.subspan(element * operand.element_bytes(), operand.element_bytes());
}

bool is_all(std::span<const std::byte> bytes, std::byte value) {
  return std::ranges::all_of(bytes, [&](std::byte byte) { return byte == value; });
}

// The number of the first byte that differs in contents of equal size; the size if none does.
std::size_t first_difference(std::span<const std::byte> a, std::span<const std::byte> b) {
  if (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0) return a.size();
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

}  // namespace

CheckedBody::CheckedBody(const KernelCall& call)
    : operands_(declared_operands(call)), first_(call, operands_), second_(call, operands_) {}

void CheckedBody::run() {
  run_within(first_, 0);
  run_within(second_, 0);
  if (const Place place = difference(); place.operand != nullptr) {
    fail(ErrorCode::kNotDeterministic,
         text_of(static_cast<std::int64_t>(place.element), *place.operand) +
             " has other bits if the body runs again with equal operands",
         "look for state that is kept between runs, addresses, threads without an order, and "
         "random numbers that no seed decides");
  }
  for (int fill = 1; fill < kTrialFills; ++fill) {
    run_within(second_, fill);
    const Place place = difference();
    if (place.operand != nullptr) throw_dependence(place, fill);
  }
  for (const DeclaredOperand& operand : operands_) {
    if (!operand.is_result() || operand.bytes() == 0) continue;
    const std::span<const std::byte> result = first_.contents(operand.number);
    std::memcpy(operand.memory.data, result.data(), result.size());
  }
}

void CheckedBody::run_within(KernelTrial& trial, int fill) {
  trial.run(TrialFills::of_all(fill));
  for (const DeclaredOperand& operand : operands_) {
    if (const auto element = trial.written_outside(operand.number)) {
      throw_written_outside(*element, operand);
    }
    if (operand.mode != OperandMode::kReads || trial.is_alias(operand.number)) continue;
    const std::span before(static_cast<const std::byte*>(operand.memory.data), operand.bytes());
    const std::size_t changed = first_difference(before, trial.contents(operand.number));
    if (changed < before.size()) throw_changed_input(changed / operand.element_bytes(), operand);
  }
}

CheckedBody::Place CheckedBody::difference() const {
  for (const DeclaredOperand& operand : operands_) {
    if (!operand.is_result()) continue;
    const std::size_t at =
        first_difference(first_.contents(operand.number), second_.contents(operand.number));
    if (at < operand.bytes()) return {&operand, at / operand.element_bytes()};
  }
  return {};
}

bool CheckedBody::differs(const Place& place) const {
  const DeclaredOperand& operand = *place.operand;
  return !std::ranges::equal(bytes_at(first_.contents(operand.number), place.element, operand),
                             bytes_at(second_.contents(operand.number), place.element, operand));
}

// Whether the element has in both trials the bytes that stood in the element before.
bool CheckedBody::has_fills(const Place& place, int fill) const {
  const DeclaredOperand& operand = *place.operand;
  const auto has = [&](const KernelTrial& trial, int number) {
    return is_all(bytes_at(trial.contents(operand.number), place.element, operand),
                  fill_byte(operand.memory.dtype, number));
  };
  return operand.mode == OperandMode::kWrites && has(first_, 0) && has(second_, fill);
}

// Repeats the run with `fill` in one part of one operand after the other, until the element differs
// from its value in the first trial.
void CheckedBody::throw_dependence(const Place& place, int fill) {
  const std::string element = text_of(static_cast<std::int64_t>(place.element), *place.operand);
  for (const DeclaredOperand& operand : operands_) {
    const auto depends_on = [&](TrialPart part) {
      second_.run({.all = 0, .other = fill, .operand = operand.number, .part = part});
      return differs(place);
    };
    if (!operand.has_contents() && depends_on(TrialPart::kInside)) {
      if (&operand == place.operand && has_fills(place, fill)) {
        fail(ErrorCode::kUninitialised, "the body leaves " + element + " unwritten",
             "write every element, or write updates(tensor) if some elements keep their values");
      }
      fail(ErrorCode::kUninitialised,
           element + " depends on the contents of " +
               (&operand == place.operand ? "the operand" : to_string(operand)) +
               " before the body",
           "write an element before reading it; for a tensor with a value, write updates(tensor)");
    }
    if (!first_.is_alias(operand.number) && depends_on(TrialPart::kOutside)) {
      fail(ErrorCode::kOutOfBounds, element + " depends on memory outside of " + to_string(operand),
           "compare indices with the size of the span");
    }
  }
  fail(ErrorCode::kUninitialised, element + " depends on memory without contents",
       "write an element before reading it, and compare indices with the size of the span");
}

}  // namespace belfry::sim
