// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/kernel.h"
#include "bodies/declared_operand.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace belfry::sim {

/// The number of different fills.
inline constexpr int kTrialFills = 4;

/// Byte `fill` of memory without contents, of an operand of this type. Fills 0 and 1 differ for
/// every type.
std::byte fill_byte(DType dtype, int fill);

/// A part of an operand's memory that has no contents for the body.
enum class TrialPart : std::uint8_t {
  kInside,   ///< The elements of kWrites and kScratch.
  kOutside,  ///< The guards before and behind the elements.
};

/// The fill of each part: `all`, but `other` of a single part of a single operand.
struct TrialFills {
  int all = 0;
  int other = 0;
  std::size_t operand = 0;
  TrialPart part = TrialPart::kInside;

  /// The same fill of every part.
  static TrialFills of_all(int fill) { return {.all = fill, .other = fill}; }
  int of(std::size_t number, TrialPart which) const {
    return number == operand && which == part ? other : all;
  }
};

/// Copies of the operands of a launch, with guards of 4096 bytes around each, on which the body
/// runs. A kReads operand with the memory of a kUpdates operand has the same copy. Each has the
/// alignment of its operand, up to 64 bytes.
class KernelTrial {
 public:
  static constexpr std::size_t kGuardBytes = 4096;

  /// Takes memory for the copies. Throws: std::bad_alloc.
  KernelTrial(const KernelCall& call, std::span<const DeclaredOperand> operands);

  /// Copies the contents of the operands, fills the rest, and runs the body. Throws: the exceptions
  /// of the body.
  void run(const TrialFills& fills);

  /// The bytes of an operand after the run.
  std::span<const std::byte> contents(std::size_t operand) const;
  /// The element that the run has written in a guard of the operand: at -1 and before, or behind
  /// the last; in each guard the nearest to the operand. Nothing without such a write.
  std::optional<std::int64_t> written_outside(std::size_t operand) const;
  /// Whether the copy belongs to an operand that updates the same memory.
  bool is_alias(std::size_t operand) const { return copies_[operand].memory == nullptr; }

 private:
  struct Copy {
    std::unique_ptr<std::byte[]> memory;  // Null of an alias.
    std::byte* data = nullptr;
  };

  void take_memory(const DeclaredOperand& operand);
  // False if no operand updates the memory of `operand`.
  bool share_updated(const DeclaredOperand& operand);

  KernelCall call_;
  std::span<const DeclaredOperand> operands_;
  std::vector<Copy> copies_;
  TrialFills fills_;
};

}  // namespace belfry::sim
