// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/access_order.h"
#include "belfry/backend/current_slot.h"
#include "belfry/backend/device.h"
#include "belfry/dlpack.h"
#include "belfry/error.h"
#include "values/copy_on_write.h"
#include "values/memory_exchange.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace belfry {
namespace {

// The owner of an exported structure. The deleter ends the owner.
template <class M>
struct Exported {
  AnyTensor tensor;
  std::vector<std::int64_t> extents;
  std::vector<std::int64_t> strides;
  M managed{};
};

std::vector<std::int64_t> row_major(std::span<const std::int64_t> extents) {
  std::vector<std::int64_t> strides(extents.size());
  std::int64_t stride = 1;
  for (std::size_t axis = extents.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= extents[axis];
  }
  return strides;
}

// Whether the tensor is now a copy, because a second handle has the storage.
bool make_sole(AnyTensor& tensor) {
  if (tensor.view().buffer.use_count() == 1) return false;
  detail::note_copy_for_write(tensor);
  tensor = detail::own_copy(tensor);
  return true;
}

template <class M>
constexpr bool kHasFlags = requires(M& managed) { managed.flags; };

template <class M>
std::unique_ptr<M, dlpack::Delete> exported(AnyTensor tensor,
                                            std::optional<std::int64_t> consumer_stream,
                                            CallSite site) {
  const detail::SiteScope scope(site);
  const std::optional<std::int64_t> stream = detail::stream_to_order(consumer_stream, site);
  if (tensor.empty()) {
    throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                               "to_dlpack: a default-constructed tensor was used",
                               "make it with Tensor::from, full or zeros", site);
  }
  ForeignMemoryDevice& exchange = detail::exchange_of(tensor.placement(), site);
  auto own = std::make_unique<Exported<M>>();
  const bool is_copy = make_sole(tensor);
  const bool is_read_only = tensor.view().buffer->is_read_only();
  if (is_read_only && !kHasFlags<M>) {
    throw UnsupportedError(ErrorCode::kUnsupported,
                           "to_unversioned_dlpack: consumers of versions before 1 would write to "
                           "const elements",
                           "export with to_dlpack, or a copy, such as Tensor::from(x.shape(), "
                           "x.to_host())",
                           site);
  }
  own->extents.assign(tensor.shape().extents().begin(), tensor.shape().extents().end());
  own->strides = row_major(own->extents);
  detail::order_write(device_of(tensor.placement()).compute_stream(), tensor.view());
  own->managed.dl_tensor = {.data = exchange.lend(tensor.view(), stream),
                            .device = detail::dlpack_device(exchange.memory_place()),
                            .ndim = tensor.shape().rank(),
                            .dtype = detail::dlpack_type(tensor.dtype()),
                            .shape = own->extents.data(),
                            .strides = own->strides.data()};
  own->tensor = std::move(tensor);
  own->managed.manager_ctx = own.get();
  own->managed.deleter = [](M* managed) { delete static_cast<Exported<M>*>(managed->manager_ctx); };
  if constexpr (kHasFlags<M>) {
    own->managed.flags = (is_read_only ? dlpack::kReadOnly : 0) | (is_copy ? dlpack::kIsCopied : 0);
  }
  return std::unique_ptr<M, dlpack::Delete>(&own.release()->managed);
}

}  // namespace

DlpackPtr to_dlpack(AnyTensor tensor, std::optional<std::int64_t> consumer_stream, CallSite site) {
  return exported<dlpack::ManagedTensorVersioned>(std::move(tensor), consumer_stream, site);
}

UnversionedDlpackPtr to_unversioned_dlpack(AnyTensor tensor,
                                           std::optional<std::int64_t> consumer_stream,
                                           CallSite site) {
  return exported<dlpack::ManagedTensor>(std::move(tensor), consumer_stream, site);
}

}  // namespace belfry
