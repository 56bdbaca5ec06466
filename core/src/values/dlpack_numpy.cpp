// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Functions for dlpack_numpy_test.py, which loads this library with ctypes.
#include "belfry/backend/device.h"
#include "belfry/backend/host_backend.h"
#include "belfry/dlpack.h"
#include "belfry/error.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace belfry {
namespace {

/// Equal to the class of the same name in the test.
struct Options {
  void* backend;
  int is_versioned;
  int copy;       // Of an import: a DlpackCopy.
  int is_shared;  // Of an export: whether the tensor has a second handle.
};

Placement place_of(void* backend) { return {static_cast<HostBackend*>(backend), 0}; }

template <class M>
AnyTensor import(void* managed, const Options& options) {
  return from_dlpack(static_cast<M*>(managed), std::nullopt, static_cast<DlpackCopy>(options.copy),
                     place_of(options.backend));
}

// The number of the error of `call`; 0 without an error.
template <class Call>
int code_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return static_cast<int>(error.code());
  } catch (...) {
    return -1;
  }
  return 0;
}

}  // namespace
}  // namespace belfry

extern "C" {

// A backend of a device of the host, for the rest of the functions. Lives as long as the program.
void* belfry_backend() { return new belfry::HostBackend{1}; }

// Copies the elements of an imported tensor to `elements`, then writes the elements of `written`,
// if not null, to the tensor, and ends the tensor.
int belfry_import(const belfry::Options* options, void* managed, void* elements,
                  const void* written, int* dtype) {
  using namespace belfry;
  return code_of([&] {
    AnyTensor tensor = options->is_versioned != 0
                           ? import <dlpack::ManagedTensorVersioned>(managed, *options)
                           : import <dlpack::ManagedTensor>(managed, *options);
    *dtype = static_cast<int>(tensor.dtype());
    tensor.read(elements);
    if (written == nullptr) return;
    Stream& stream = device_of(tensor.placement()).compute_stream();
    stream.write(tensor.writable(true), written);
    stream.synchronize();
  });
}

// Exports a tensor with these elements: a structure for a consumer, or null.
void* belfry_export(const belfry::Options* options, int dtype, const std::int64_t* extents,
                    int rank, const void* elements) {
  using namespace belfry;
  void* result = nullptr;
  code_of([&] {
    const Shape shape(std::vector<std::int64_t>(extents, extents + rank));
    AnyTensor tensor = AnyTensor::from_host(static_cast<DType>(dtype), shape, elements,
                                            place_of(options->backend));
    const AnyTensor second = options->is_shared != 0 ? tensor : AnyTensor();
    if (options->is_versioned != 0) {
      result = to_dlpack(std::move(tensor)).release();
    } else {
      result = to_unversioned_dlpack(std::move(tensor)).release();
    }
  });
  return result;
}

// The number of buffers that exist.
int belfry_live_buffers(void* backend) {
  return static_cast<int>(device_of(belfry::place_of(backend)).memory().live_buffers);
}

}  // extern "C"
