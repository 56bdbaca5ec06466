// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "dense_layer.h"
#include <belfry/cuda/per_stream.h>

#include <cublas_v2.h>

#include <stdexcept>
#include <string>

namespace {

// [cublas]
void require(cublasStatus_t status) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw std::runtime_error(std::string("cuBLAS: ") + cublasGetStatusString(status));
}

/// A handle of cuBLAS for one stream.
class Cublas {
 public:
  explicit Cublas(cudaStream_t stream) : Cublas() { require(cublasSetStream(handle_, stream)); }
  ~Cublas() { cublasDestroy(handle_); }
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;

  cublasHandle_t get() const { return handle_; }

 private:
  Cublas() { require(cublasCreate(&handle_)); }

  cublasHandle_t handle_ = nullptr;
};
// [cublas]

// [bias]
__global__ void repeat(float* y, const float* bias, std::size_t outputs, std::size_t count) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) y[i] = bias[i % outputs];
}
// [bias]

}  // namespace

// [on_cuda]
void DenseLayer::on_cuda(cudaStream_t stream, std::span<float> y, std::span<const float> x,
                         std::span<const float> weight, std::span<const float> bias) const {
  constexpr unsigned kThreads = 256;
  const auto blocks = static_cast<unsigned>((y.size() + kThreads - 1) / kThreads);
  repeat<<<blocks, kThreads, 0, stream>>>(y.data(), bias.data(), bias.size(), y.size());

  // cuBLAS has matrices in columns: a matrix in rows is the transposed matrix there, and the
  // transposed product is weight' * x'.
  const float one = 1;
  require(cublasSgemm(belfry::cuda::per_stream<Cublas>(stream).get(), CUBLAS_OP_N, CUBLAS_OP_N,
                      outputs, rows, inputs, &one, weight.data(), outputs, x.data(), inputs, &one,
                      y.data(), outputs));
}
// [on_cuda]
