// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/testing/arbitrary.h"
#include "belfry/testing/backend_factory.h"

#include <cstdint>
#include <ostream>
#include <vector>

/// Random programs of kernels of users, kernels of belfry, merges, variables, and tensors over
/// memory of the program. Every replica has registers, which are tensors of one length, and
/// memories. All elements are integers that wrap, so that no order of additions matters.
namespace belfry::testing::kernel_mix {

inline constexpr int kRegisters = 4;
inline constexpr int kMemories = 2;

using Row = std::vector<std::int32_t>;
using Rows = std::vector<Row>;

/// The work of a step. The kernels of users are `AddScaled`: y += number * x; `Reverse`: z = x
/// from the last element to the first, by way of scratch memory; `Exchange`: two tensors in place.
enum class Op : std::uint8_t {
  kAddScaled,     ///< `to` += number * `from`.
  kReverse,       ///< `to` = `from` reversed, unless both are the same register.
  kExchange,      ///< Exchanges `to` and `from`, and adds number to the new `to`.
  kCombine,       ///< `to` = an uninitialised tensor, then written: 3 * `to` + `from`.
  kShare,         ///< `to` = `from`, a second handle.
  kAdd,           ///< `to` = `to` + `from`, by belfry.
  kScale,         ///< `to` *= number in place, by belfry.
  kFill,          ///< `to` = a new tensor of the number.
  kWrap,          ///< `to` = a tensor over memory number `from`, if no register uses the memory.
  kExchangeLibs,  ///< `to` is exported and imported by DLPack.
  kReadMirrored,  ///< `to` = the mirrored variable.
  kReadLocal,     ///< `to` = the replica-local variable.
  kUpdateLocal,   ///< The replica-local variable += number * `from`.
  kAllReduce,     ///< `to` = the sum of `from` over all replicas, in place if both are the same.
  kRotate,        ///< `to` = 3 * `from` of the next replica, copied over, + `from`, in a merge.
  kUpdate,        ///< The mirrored variable += number * the sum of `from`, in a merge.
  kNonSlot,       ///< `to` = the sum of `from`, reversed by update_non_slot, in a merge.
};
inline constexpr int kOps = static_cast<int>(Op::kNonSlot) + 1;
inline bool is_merge(Op op) { return op >= Op::kAllReduce; }

struct Step {
  Op op = Op::kFill;
  int to = 0;
  int from = 0;
  std::int32_t number = 0;
  int who = -1;  ///< The replica of the step, modulo the replicas; -1, and in merges: all.
};

struct Program {
  BackendRequest backend;
  int length = 1;
  std::vector<Step> steps;
};
void showValue(const Program& program, std::ostream& out);
/// Programs on 1 to 4 devices.
rc::Gen<Program> program();

/// Whether `replica` of `replicas` takes part in a step.
inline bool takes_part(const Step& step, int replica, int replicas) {
  return is_merge(step.op) || step.who < 0 || step.who % replicas == replica;
}

/// Whether the elements of a kWrap are const.
inline bool wraps_const(const Step& step) { return step.number % 4 == 0; }

/// The values after a program.
struct Outcome {
  std::vector<Rows> registers;  ///< Of each replica.
  std::vector<Rows> memories;   ///< Of each replica.
  Rows mirrored;                ///< The components.
  Rows local;                   ///< The components.
  /// The number of writes that each replica was refused, because a second handle shared memory of
  /// the program, or because the elements were const.
  std::vector<int> refused;

  bool operator==(const Outcome&) const = default;
};
void showValue(const Outcome& outcome, std::ostream& out);

/// The first values.
Row first_register(int replica, int index, int length);
Row first_memory(int replica, int index, int length);
inline constexpr std::int32_t kFirstMirrored = 5;  ///< Of all elements.
inline constexpr std::int32_t kFirstLocal = 7;     ///< Of all elements.

/// The outcome by vectors on the host: a second implementation without devices and tensors.
Outcome predict(const Program& program);

}  // namespace belfry::testing::kernel_mix
