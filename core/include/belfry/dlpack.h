// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/prints.h"
#include "belfry/dtype.h"
#include "belfry/tensor.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace belfry {

/// The structures of DLPack, a convention of libraries that exchange tensors in memory. Names of
/// members, layout and numbers are those of `dlpack.h`, version 1.0, of github.com/dmlc/dlpack
/// (Apache License 2.0); the declarations are belfry's own. A structure of `dlpack.h` may be passed
/// to from_dlpack, and a pointer to a structure of belfry may be cast to a pointer to the structure
/// of `dlpack.h`.
namespace dlpack {

/// The kinds of devices that belfry knows.
enum DeviceType : std::int32_t {
  kCpu = 1,           ///< Memory of the host.
  kCuda = 2,          ///< Memory of a GPU.
  kCudaHost = 3,      ///< Pinned memory of the host.
  kCudaManaged = 13,  ///< Memory that CUDA moves between the host and GPUs.
};
/// A device.
struct Device {
  std::int32_t device_type = kCpu;  ///< A DeviceType, or the number of a kind that is unknown.
  std::int32_t device_id = 0;       ///< The number among the devices of the kind.
};
/// The kinds of element types.
enum TypeCode : std::uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4, kBool = 6 };
/// An element type.
struct DataType {
  std::uint8_t code = kFloat;  ///< A TypeCode, or the number of a kind that is unknown.
  std::uint8_t bits = 0;       ///< The bits of a number.
  std::uint16_t lanes = 1;     ///< The numbers in an element; 1 for all of belfry's.
};
/// A tensor, without its owner.
struct Tensor {
  void* data = nullptr;             ///< The start of the memory.
  Device device{};                  ///< The place of the memory.
  std::int32_t ndim = 0;            ///< The number of axes.
  DataType dtype{};                 ///< The element type.
  std::int64_t* shape = nullptr;    ///< The extents, outermost first.
  std::int64_t* strides = nullptr;  ///< In elements; null: row-major.
  std::uint64_t byte_offset = 0;    ///< The first element, from `data`.
};
/// A tensor and its end, before version 1.
struct ManagedTensor {
  Tensor dl_tensor{};                         ///< The tensor.
  void* manager_ctx = nullptr;                ///< For the deleter.
  void (*deleter)(ManagedTensor*) = nullptr;  ///< Ends the tensor and this structure.
};
/// A version of DLPack. Equal major versions have equal layouts.
struct Version {
  std::uint32_t major = 1;  ///< The layout.
  std::uint32_t minor = 0;  ///< The numbers that are known.
};
/// The elements may not be written.
inline constexpr std::uint64_t kReadOnly = 1;
/// The elements are a copy.
inline constexpr std::uint64_t kIsCopied = 2;
/// A tensor and its end, since version 1.
struct ManagedTensorVersioned {
  Version version{};                                   ///< The layout of the rest.
  void* manager_ctx = nullptr;                         ///< For the deleter.
  void (*deleter)(ManagedTensorVersioned*) = nullptr;  ///< Ends the tensor and this structure.
  std::uint64_t flags = 0;                             ///< kReadOnly and kIsCopied.
  Tensor dl_tensor{};                                  ///< The tensor.
};

/// Calls the deleter of an exported tensor that no consumer has taken.
struct Delete {
  /// Ends the tensor.
  template <class M>
  void operator()(M* managed) const noexcept {
    if (managed->deleter != nullptr) managed->deleter(managed);
  }
};

}  // namespace dlpack

/// Whether an import may copy.
enum class DlpackCopy : std::uint8_t {
  kNever,     ///< The tensor is the memory of the producer, or the import fails.
  kIfNeeded,  ///< A copy, if the tensor cannot be the memory of the producer.
  kAlways,    ///< A copy.
};
/// `kNever`, `kIfNeeded` or `kAlways`.
std::string to_string(DlpackCopy copy);

namespace detail {

/// A structure of DLPack, of belfry's declarations or of others.
template <class M>
concept ManagedByDlpack = requires(M& managed) {
  managed.dl_tensor.byte_offset;
  managed.manager_ctx;
  managed.deleter(&managed);
};

/// The major version of DLPack that belfry reads.
inline constexpr std::uint32_t kKnownMajor = 1;

/// An import before its checks. Of another major version, the version alone.
struct DlpackSource {
  dlpack::Tensor tensor{};
  dlpack::Version version{};
  std::uint64_t flags = 0;
  void* managed = nullptr;
  void (*release)(void* managed) = nullptr;
};

AnyTensor import_dlpack(const DlpackSource& source, std::optional<std::int64_t> producer_stream,
                        DlpackCopy copy, Placement placement, CallSite site);
/// Throws: InvalidArgumentError (kDType) unless `tensor` has the element type `dtype`.
void require_dlpack_type(const DlpackSource& source, DType dtype, CallSite site);

template <ManagedByDlpack M>
DlpackSource source_of(M* managed) {
  DlpackSource source;
  source.managed = managed;
  if (managed == nullptr) return source;
  if constexpr (requires { managed->version.major; }) {
    source.version = {managed->version.major, managed->version.minor};
    // The layout of the rest belongs to the major version.
    if (source.version.major != kKnownMajor) return source;
    source.flags = managed->flags;
  }
  const auto& from = managed->dl_tensor;
  source.tensor = {.data = from.data,
                   .device = {.device_type = static_cast<std::int32_t>(from.device.device_type),
                              .device_id = from.device.device_id},
                   .ndim = from.ndim,
                   .dtype = {from.dtype.code, from.dtype.bits, from.dtype.lanes},
                   .shape = from.shape,
                   .strides = from.strides,
                   .byte_offset = from.byte_offset};
  source.release = [](void* own) { dlpack::Delete()(static_cast<M*>(own)); };
  return source;
}

}  // namespace detail

/// Imports a tensor of another library, in place: `managed` is a structure of DLPack (see
/// Tensor::over). Memory of the host is for simulated devices and devices of the host, memory of a
/// GPU for this GPU of the CUDA backend. The tensor is on the current device, unless a placement is
/// given. If the call succeeds, belfry calls the deleter after the last handle has ended and all
/// work is done; if the call throws, `managed` stays the caller's. Elements that the producer flags
/// as read-only are only read.
/// Order: work of the tensor starts after the work that the stream `producer_stream` has by now. A
/// stream is numbered as in the Python array API: 1 for the legacy default stream of CUDA, also if
/// no number is given, 2 for the default stream of the thread, -1 for no wait, else the handle.
/// Memory of the host is complete at the call. A copy blocks the host.
/// Throws, beside the errors of Tensor::over:
/// - UnsupportedError (kUnsupported): element types without a DType, several lanes, or a major
///   version other than 1, of which nothing but the version is read;
/// - UnsupportedError (kUnsupported): devices and layouts that the device cannot use, unless a copy
///   is permitted and belfry can make it, from memory of the host or row-major on the device;
/// - InvalidArgumentError (kInvalidArgument): null; a shape that is none or has more than 128 axes;
///   elements without memory; strides beyond all memory; bools in memory of the host besides 0 and
///   1; stream 0;
/// - InvalidArgumentError (kShape): more than 2^63 - 1 bytes;
/// - DeviceError (kOutOfMemory): no room for a copy.
template <detail::ManagedByDlpack M>
AnyTensor from_dlpack(M* managed, std::optional<std::int64_t> producer_stream = std::nullopt,
                      DlpackCopy copy = DlpackCopy::kNever, Placement placement = {},
                      CallSite site = CallSite::here()) {
  return detail::import_dlpack(detail::source_of(managed), producer_stream, copy, placement, site);
}
/// Does the same for a known element type.
/// Throws: also InvalidArgumentError (kDType).
template <Element T, detail::ManagedByDlpack M>
Tensor<T> from_dlpack(M* managed, std::optional<std::int64_t> producer_stream = std::nullopt,
                      DlpackCopy copy = DlpackCopy::kNever, Placement placement = {},
                      CallSite site = CallSite::here()) {
  const detail::DlpackSource source = detail::source_of(managed);
  detail::require_dlpack_type(source, dtype_of<T>(), site);
  return Tensor<T>(detail::import_dlpack(source, producer_stream, copy, placement, site));
}

/// An exported tensor: give a consumer `release()`, or let the pointer call the deleter.
using DlpackPtr = std::unique_ptr<dlpack::ManagedTensorVersioned, dlpack::Delete>;
/// The same, before version 1.
using UnversionedDlpackPtr = std::unique_ptr<dlpack::ManagedTensor, dlpack::Delete>;

/// Exports a tensor for another library: row-major, with strides, a byte offset of 0, and the flag
/// kReadOnly for memory of const elements. The memory is the tensor's if `tensor` is the only
/// handle, so pass the tensor with std::move; else it is a copy with the flag kIsCopied. Memory of
/// simulated devices is memory of the host. The consumer calls the deleter, on any thread, after
/// its own work with the memory is done.
/// Order: work of the stream `consumer_stream` from now on starts after the work of the tensor's
/// compute stream, and after all work with the tensor; the numbers are those of from_dlpack. For
/// memory of the host, the host blocks until the work is done. Throws:
/// - InvalidArgumentError (kInvalidArgument): a default-constructed tensor, or stream 0;
/// - UnsupportedError (kUnsupported): a device that exchanges no memory;
/// - DeviceError: no memory, or failed work.
DlpackPtr to_dlpack(AnyTensor tensor, std::optional<std::int64_t> consumer_stream = std::nullopt,
                    CallSite site = CallSite::here());
template <Element T>
DlpackPtr to_dlpack(Tensor<T> tensor, std::optional<std::int64_t> consumer_stream = std::nullopt,
                    CallSite site = CallSite::here()) {
  return to_dlpack(std::move(tensor.any()), consumer_stream, site);
}
/// Does the same for consumers of versions before 1, which know no flags.
/// Throws: also UnsupportedError (kUnsupported) for memory of const elements.
UnversionedDlpackPtr to_unversioned_dlpack(
    AnyTensor tensor, std::optional<std::int64_t> consumer_stream = std::nullopt,
    CallSite site = CallSite::here());
template <Element T>
UnversionedDlpackPtr to_unversioned_dlpack(
    Tensor<T> tensor, std::optional<std::int64_t> consumer_stream = std::nullopt,
    CallSite site = CallSite::here()) {
  return to_unversioned_dlpack(std::move(tensor.any()), consumer_stream, site);
}

}  // namespace belfry
