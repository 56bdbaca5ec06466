// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/current_slot.h"
#include "belfry/backend/device.h"
#include "belfry/detail/tensor_launch.h"
#include "belfry/dlpack.h"
#include "belfry/error.h"
#include "values/bool_bytes.h"
#include "values/memory_exchange.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace belfry::detail {
namespace {

// A larger number is a mistake of the producer, with extents beyond the end of the list.
constexpr std::int32_t kMostAxes = 128;

// The end of an object calls the deleter, if the import has succeeded.
class Taken {
 public:
  explicit Taken(const DlpackSource& source) : source_(source) {}
  Taken(const Taken&) = delete;
  Taken& operator=(const Taken&) = delete;
  ~Taken() {
    if (is_ours_) source_.release(source_.managed);
  }
  void take() { is_ours_ = true; }

 private:
  DlpackSource source_;
  bool is_ours_ = false;
};

[[noreturn]] void refuse(const std::string& text, const char* hint, CallSite site) {
  throw UnsupportedError(ErrorCode::kUnsupported, "from_dlpack: " + text, hint, site);
}

[[noreturn]] void reject(const std::string& text, CallSite site) {
  throw InvalidArgumentError(ErrorCode::kInvalidArgument, "from_dlpack: " + text,
                             "pass the structure that the producer has made", site);
}

void require_readable(const DlpackSource& source, CallSite site) {
  if (source.managed == nullptr) reject("null in place of a tensor", site);
  if (source.version.major == kKnownMajor) return;
  refuse(fmt::format("version {}.{} of DLPack", source.version.major, source.version.minor),
         "ask the producer for version 1", site);
}

DType type_of(const dlpack::DataType& type, CallSite site) {
  const std::optional<DType> known = dtype_of_dlpack(type);
  if (known) return *known;
  refuse(fmt::format("elements of kind {} with {} bits and {} lanes", type.code, type.bits,
                     type.lanes),
         "convert the elements at the producer", site);
}

Shape shape_of(const dlpack::Tensor& tensor, CallSite site) {
  if (tensor.ndim < 0 || (tensor.ndim > 0 && tensor.shape == nullptr)) {
    reject("a tensor without a shape", site);
  }
  if (tensor.ndim > kMostAxes) {
    reject(fmt::format("a tensor of {} axes, and {} is the most", tensor.ndim, kMostAxes), site);
  }
  return Shape(std::vector<std::int64_t>(tensor.shape, tensor.shape + tensor.ndim), site);
}

// `[3,2] with strides [1,3]`.
std::string layout_text(const dlpack::Tensor& tensor, const Shape& shape) {
  if (tensor.strides == nullptr) return to_string(shape) + " without strides";
  return fmt::format("{} with strides [{}]", to_string(shape),
                     fmt::join(tensor.strides, tensor.strides + tensor.ndim, ","));
}

// Throws unless the elements may lie in an address space: the sums of addresses below fit.
void require_memory(const dlpack::Tensor& tensor, DType dtype, const Shape& shape, CallSite site) {
  if (shape.count() == 0) return;
  if (tensor.data == nullptr) {
    reject("null data of a tensor " + layout_text(tensor, shape), site);
  }
  __extension__ using Wide = __int128;
  constexpr Wide kFar = Wide{1} << 65;  // From any address beyond all memory.
  const auto element = static_cast<Wide>(size_of(dtype));
  const Wide start = Wide{reinterpret_cast<std::uintptr_t>(tensor.data)} + tensor.byte_offset;
  Wide first = start;
  Wide end = start + element;
  std::int64_t row_major = shape.count();
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const std::int64_t extent = shape.extents()[static_cast<std::size_t>(axis)];
    row_major /= extent;
    const Wide stride = tensor.strides == nullptr ? row_major : tensor.strides[axis];
    const Wide last = std::clamp(stride * (extent - 1), -kFar, kFar) * element;
    (last < 0 ? first : end) += last;
  }
  if (first >= 0 && end <= Wide{UINTPTR_MAX}) return;
  reject("elements beyond all memory, of a tensor " + layout_text(tensor, shape), site);
}

// An axis of extent 1 has no second element, and an empty tensor no first.
bool is_row_major(const dlpack::Tensor& tensor, const Shape& shape) {
  if (tensor.strides == nullptr || shape.count() == 0) return true;
  std::int64_t expected = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    const std::int64_t extent = shape.extents()[static_cast<std::size_t>(axis)];
    if (extent != 1 && tensor.strides[axis] != expected) return false;
    expected *= extent;
  }
  return true;
}

// Null data of a tensor without elements stays null.
const std::byte* first_element(const dlpack::Tensor& tensor) {
  if (tensor.data == nullptr) return nullptr;
  return static_cast<const std::byte*>(tensor.data) + tensor.byte_offset;
}

// CUDA also checks addresses.
bool has_place(const dlpack::Device& device, const MemoryPlace& place) {
  const dlpack::Device own = dlpack_device(place);
  if (device.device_type == own.device_type) return device.device_id == own.device_id;
  if (place.kind == MemoryKind::kHost) return device.device_type == dlpack::kCudaHost;
  return device.device_type == dlpack::kCudaManaged;
}

// The reason against a tensor over the producer's memory; empty without a reason.
std::string obstacle(const dlpack::Tensor& tensor, DType dtype, const Shape& shape,
                     const MemoryPlace& place) {
  if (!has_place(tensor.device, place)) {
    return fmt::format("memory of device {}:{} of DLPack, and the tensor is to be on device {}:{}",
                       tensor.device.device_type, tensor.device.device_id,
                       dlpack_device(place).device_type, dlpack_device(place).device_id);
  }
  if (!is_row_major(tensor, shape)) {
    return "the layout is not row-major: " + layout_text(tensor, shape);
  }
  if (reinterpret_cast<std::uintptr_t>(first_element(tensor)) % size_of(dtype) != 0) {
    return "the memory is not aligned to the element type";
  }
  return {};
}

// The elements in row-major order, from any strides.
std::vector<std::byte> packed(const dlpack::Tensor& tensor, DType dtype, const Shape& shape,
                              CallSite site) {
  const std::size_t element = size_of(dtype);
  std::vector<std::byte> bytes;
  try {
    bytes.resize(static_cast<std::size_t>(shape.count()) * element);
  } catch (const std::bad_alloc&) {
    throw DeviceError(
        ErrorCode::kOutOfMemory,
        "from_dlpack: the host has no room for a copy of a tensor " + layout_text(tensor, shape),
        "import fewer elements", site);
  }
  std::vector<std::int64_t> index(static_cast<std::size_t>(shape.rank()), 0);
  // In elements. Without a sign: the stride of an axis with a single element is any number.
  std::uint64_t offset = 0;
  for (std::size_t at = 0; at < bytes.size(); at += element) {
    const auto from = static_cast<std::ptrdiff_t>(offset * element);
    std::memcpy(bytes.data() + at, first_element(tensor) + from, element);
    for (std::size_t axis = index.size(); axis-- > 0;) {
      const auto stride = static_cast<std::uint64_t>(tensor.strides[axis]);
      offset += stride;
      if (++index[axis] < shape.extents()[axis]) break;
      offset -= stride * static_cast<std::uint64_t>(shape.extents()[axis]);
      index[axis] = 0;
    }
  }
  return bytes;
}

// Throws for an element above 1. A read of the element as a bool is undefined behaviour.
void require_bools(DType dtype, const void* elements, const Shape& shape, CallSite site) {
  if (dtype != DType::kBool || shape.count() == 0) return;
  const std::span bytes(static_cast<const std::byte*>(elements),
                        static_cast<std::size_t>(shape.count()));
  const std::size_t bad = first_other_than_bool(bytes);
  if (bad == bytes.size()) return;
  throw InvalidArgumentError(
      ErrorCode::kInvalidArgument,
      fmt::format("from_dlpack: element {} of a tensor {} of bool is the byte {}", bad,
                  to_string(shape), std::to_integer<int>(bytes[bad])),
      "a bool is 0 or 1: convert the elements at the producer, or export them as uint8", site);
}

// The producer may change the elements after the call.
AnyTensor copy_of_host(const dlpack::Tensor& tensor, DType dtype, const Shape& shape,
                       Placement placement, CallSite site) {
  if (is_row_major(tensor, shape)) {
    require_bools(dtype, first_element(tensor), shape, site);
    return AnyTensor::from_host(dtype, shape, first_element(tensor), placement, site);
  }
  AnyTensor copy = AnyTensor::allocate(dtype, shape, placement);
  const std::vector<std::byte> elements = packed(tensor, dtype, shape, site);
  require_bools(dtype, elements.data(), shape, site);
  device_of(placement).compute_stream().write(copy.view(), elements.data());
  return copy;
}

AnyTensor copy_on_device(const AnyTensor& tensor) {
  AnyTensor copy = own_copy(tensor);
  device_of(tensor.placement()).compute_stream().synchronize();
  return copy;
}

}  // namespace

void require_dlpack_type(const DlpackSource& source, DType dtype, CallSite site) {
  require_readable(source, site);
  const DType own = type_of(source.tensor.dtype, site);
  if (own == dtype) return;
  throw InvalidArgumentError(
      ErrorCode::kDType,
      "from_dlpack: elements of " + to_string(own) + " for a tensor of " + to_string(dtype),
      "name the element type of the producer, or none", site);
}

AnyTensor import_dlpack(const DlpackSource& source, std::optional<std::int64_t> producer_stream,
                        DlpackCopy copy, Placement placement, CallSite site) {
  const SiteScope scope(site);
  require_readable(source, site);
  const dlpack::Tensor& tensor = source.tensor;
  const DType dtype = type_of(tensor.dtype, site);
  const Shape shape = shape_of(tensor, site);
  // A copy needs no check here: its allocation fails if no device has room.
  const bool is_copied = copy != DlpackCopy::kNever && !is_row_major(tensor, shape);
  if (!is_copied) require_byte_count(dtype, shape, site);
  require_memory(tensor, dtype, shape, site);
  const std::optional<std::int64_t> stream = stream_to_order(producer_stream, site);
  if (placement.backend == nullptr) placement = current_placement(site);
  const MemoryPlace place = exchange_of(placement, site).memory_place();
  const std::string reason = obstacle(tensor, dtype, shape, place);
  const auto taken = std::make_shared<Taken>(source);
  AnyTensor result;
  if (tensor.device.device_type == dlpack::kCpu &&
      (copy == DlpackCopy::kAlways || (copy == DlpackCopy::kIfNeeded && !reason.empty()))) {
    result = copy_of_host(tensor, dtype, shape, placement, site);
  } else if (reason.empty()) {
    if (place.kind != MemoryKind::kGpu) require_bools(dtype, first_element(tensor), shape, site);
    // The elements are only written through a tensor without the flag.
    result = make_over(dtype, shape,
                       {.address = const_cast<std::byte*>(first_element(tensor)),
                        .bytes = static_cast<std::size_t>(shape.count()) * size_of(dtype),
                        .read_only = (source.flags & dlpack::kReadOnly) != 0,
                        .owner = taken,
                        .producer_stream = place.kind == MemoryKind::kGpu ? stream : std::nullopt},
                       placement, site);
    if (copy == DlpackCopy::kAlways) result = copy_on_device(result);
  } else {
    refuse(reason,
           tensor.device.device_type == dlpack::kCpu
               ? "let the import copy, with DlpackCopy::kIfNeeded"
               : "copy the elements at the producer, row-major, to the device of the tensor",
           site);
  }
  taken->take();
  return result;
}

}  // namespace belfry::detail

namespace belfry {

std::string to_string(DlpackCopy copy) {
  switch (copy) {
    case DlpackCopy::kNever:
      return "kNever";
    case DlpackCopy::kIfNeeded:
      return "kIfNeeded";
    case DlpackCopy::kAlways:
      break;
  }
  return "kAlways";
}

}  // namespace belfry
