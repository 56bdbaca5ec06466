// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/compiler.h"

#include <concepts>
#include <memory>
#include <type_traits>
#include <typeinfo>

// Of CUDA: a cudaStream_t is a pointer to the type. A program that includes no header of CUDA may
// include this header.
struct CUstream_st;

namespace belfry {
namespace detail {

/// An object of a stream, with the function that ends the object.
using StreamObject = std::unique_ptr<void, void (*)(void*)>;

/// The object of `type` of the body's stream. The first call makes the object.
void* object_of_stream(CUstream_st* stream, const std::type_info& type,
                       StreamObject (*make)(CUstream_st* stream));

template <class T>
StreamObject make_object_of_stream(CUstream_st* stream) {
  void (*const end)(void*) = [](void* object) { delete static_cast<T*>(object); };
  if constexpr (std::constructible_from<T, CUstream_st*>) {
    return {new T(stream), end};
  } else {
    static_cast<void>(stream);
    return {new T(), end};
  }
}

}  // namespace detail

namespace cuda {

/// The object of type `T` of a stream: a handle of a library, such as cuBLAS's, which takes long to
/// make and serves a single stream. For the body `on_cuda` of a kernel, with the stream of the
/// body.
///
///     void on_cuda(cudaStream_t stream, std::span<float> y, std::span<const float> x) const {
///       Cublas& cublas = cuda::per_stream<Cublas>(stream);
///       ...
///     }
///
/// The first call for a stream makes the object: `T(stream)`, or `T()` if `T` has no constructor
/// for a stream. The object ends with the stream, at the latest with the backend: on the host, when
/// all work of the stream is done. The last object that was made ends first. The GPU of the stream
/// is current when an object is made and when an object ends. The constructor of `T` may ask for
/// other objects of the stream.
///
/// A body has the objects of its stream to itself, from its first call to its end: handles need no
/// lock. `docs/kernels.md` has an example.
/// Context: the body of a kernel for GPUs, on the thread that called the body. On the simulated
/// driver `on_host` stands for this body, and needs no handles.
/// Order: enqueues nothing. The host waits for other bodies that use the objects of the stream.
/// Throws:
/// - ContextError (kWrongContext) outside of `on_cuda`;
/// - InvalidArgumentError (kForeignObject) for a stream that is not the body's;
/// - the exceptions of the constructor, after which the next call makes the object.
template <class T>
T& per_stream(CUstream_st* stream) {
  static_assert(std::constructible_from<T, CUstream_st*> || std::default_initializable<T>,
                "an object of a stream is made by its first use: give T a constructor "
                "T(cudaStream_t stream) or T()");
  static_assert(std::is_nothrow_destructible_v<T>,
                "an object of a stream ends with the stream: the destructor of T must not throw");
  return *static_cast<T*>(
      detail::object_of_stream(stream, typeid(T), &detail::make_object_of_stream<T>));
}

}  // namespace cuda
}  // namespace belfry
