// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/process_values.h"

#include "belfry/error.h"

#include <exception>

namespace belfry::detail {

void throw_not_sent(const char* what, CallSite site) {
  throw UnsupportedError(
      ErrorCode::kUnsupported,
      std::string(what) + " over several processes takes values that can be sent",
      "numbers, strings, tensors and containers of these can be sent; in place "
      "of any other type, pass its members",
      site);
}

void tell_failed_work(StrategyCore& core, CallSite site) noexcept {
  core.processes()->tell_failure(std::current_exception(), -1, site);
}

void send_tensor(ByteWriter& out, const AnyTensor& tensor) {
  out.put(tensor.empty());
  if (tensor.empty()) return;
  out.put(tensor.dtype());
  out.put(static_cast<std::uint64_t>(tensor.shape().rank()));
  for (int axis = 0; axis < tensor.shape().rank(); ++axis) out.put(tensor.shape().extent(axis));
  tensor.read(out.make_room(tensor.bytes()));
}

AnyTensor receive_tensor(ByteReader& in, Placement place) {
  if (in.get<bool>()) return {};
  const auto dtype = in.get<DType>();
  std::vector<std::int64_t> extents(in.count(sizeof(std::int64_t)));
  for (std::int64_t& extent : extents) extent = in.get<std::int64_t>();
  Shape shape(std::move(extents));
  const auto bytes = static_cast<std::size_t>(shape.count()) * size_of(dtype);
  return AnyTensor::from_host(dtype, std::move(shape), in.skip(bytes), place);
}

void require_own_components(const StrategyCore& core, const char* what, const Participants& present,
                            CallSite site) {
  for (int i = 0; i < core.own().count(); ++i) {
    if (present.has(core.own().id(i))) continue;
    throw UnsupportedError(ErrorCode::kUnsupported,
                           std::string(what) +
                               " over several processes needs a component of every replica, and "
                               "replica " +
                               std::to_string(core.own().id(i)) + " has none",
                           "give every replica a value", site);
  }
}

}  // namespace belfry::detail
