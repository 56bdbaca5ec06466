// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/byte_stream.h"
#include "belfry/detail/function_ref.h"
#include "belfry/detail/nest_traits.h"
#include "belfry/detail/strategy_core.h"
#include "belfry/distributed_values.h"
#include "belfry/nest.h"
#include "belfry/process_group.h"
#include "belfry/tensor.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

namespace belfry::detail {

/// Whether a message has the elements of its tensors.
enum class Elements : std::uint8_t {
  kSent,      ///< The elements follow type and shape.
  kHeld,      ///< The same. The host of the receiver holds the elements for a reduction.
  kOnDevice,  ///< The elements stay on the devices of their process.
};

/// Order: blocks the host until the elements of the tensor are computed, if they are sent.
void send_tensor(ByteWriter& out, const AnyTensor& tensor, Elements elements = Elements::kSent);
/// The tensor of the message, on `place`; without elements if the message has none. Throws:
/// InternalError for a message of another form.
AnyTensor receive_tensor(ByteReader& in, Placement place);
/// A tensor in a message. The elements are null if they stay on the device.
struct SentTensor {
  DType dtype;
  Shape shape;
  const std::byte* elements = nullptr;
  bool is_held = false;
};
/// The next tensor of the message; nothing for a tensor without a value. Throws: as receive_tensor.
std::optional<SentTensor> next_tensor(ByteReader& in);
/// The element type in the message. Throws: InternalError for a number without a type.
DType next_dtype(ByteReader& in);
/// Throws: InternalError for elements of a message that stand for no bool.
void require_elements(DType dtype, std::span<const std::byte> elements);

/// The tensors of a value.
template <class T>
std::vector<const AnyTensor*> tensors_of(const PerReplica<T>& value) {
  std::vector<const AnyTensor*> tensors;
  for (const T& component : value) {
    for_each_leaf(component, [&](const auto& leaf) {
      if constexpr (IsTensor<std::remove_cvref_t<decltype(leaf)>>::value) {
        tensors.push_back(&leaf.any());
      }
    });
  }
  return tensors;
}
/// The same for a reduction; none if a replica of this process has no component: a communicator
/// takes a part of every replica.
template <class T>
std::vector<const AnyTensor*> tensors_to_join(const StrategyCore& core,
                                              const PerReplica<T>& value) {
  for (int i = 0; i < core.own().count(); ++i) {
    if (!value.has(core.own().id(i))) return {};
  }
  return tensors_of(value);
}

/// The values of all processes in an exchange.
struct SentValues {
  std::vector<Bytes> bytes;          ///< Of each process.
  std::vector<ByteReader> messages;  ///< At the begin of each value, in `bytes`.
  /// The result of the fold, in place of messages; null without a result.
  std::shared_ptr<const Bytes> folded{};
  bool on_devices = false;  ///< The elements of tensors stay on the devices.
};

/// Whether the hosts of the processes reduce these tensors in their memory, as far as this process
/// knows.
bool hosts_reduce(StrategyCore& core, const std::vector<const AnyTensor*>& tensors);
/// Writes the values of this process for exchange_to_reduce, to be sent with the round of the
/// merge. Throws: exceptions of `write`, DeviceError.
void write_to_reduce(ByteWriter& out, StrategyCore& core,
                     const std::vector<const AnyTensor*>& tensors,
                     FunctionRef<void(ByteWriter&, Elements)> write);
/// The exchange of values for a reduction by an operator. The elements of tensors stay on the
/// devices if the devices of all processes can be joined by a communicator, which the first such
/// exchange makes (SEM-215); else the elements are sent. `write` writes the values of this
/// process, whose tensors are `tensors`; `what` and `site` are those of the verb. `fold` may reduce
/// the messages of all processes, which begin with the transport; null for no fold. With a fold,
/// the values that processes have sent with the round are not sent again.
/// Order: blocks the host until all processes have called, and until tensors that are sent are
/// computed. Throws: exceptions of `write`, DeviceError, and then PeerFailedError in the other
/// processes; as RoundMembers::exchange.
SentValues exchange_to_reduce(StrategyCore& core, const char* what, CallSite site,
                              const std::vector<const AnyTensor*>& tensors,
                              FunctionRef<void(ByteWriter&, Elements)> write,
                              const ProcessGroup::Fold* fold = nullptr);
/// The same for values that move to other replicas: the order of additions and the element types of
/// a communicator do not matter, and a replica may have no component (SEM-285).
SentValues exchange_to_move(StrategyCore& core, const char* what, CallSite site,
                            const std::vector<const AnyTensor*>& tensors,
                            FunctionRef<void(ByteWriter&, Elements)> write);

}  // namespace belfry::detail
