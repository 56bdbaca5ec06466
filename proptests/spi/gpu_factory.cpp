// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda_factory.h"

// The CUDA backend with the real libraries: every device on the first GPU.
namespace belfry::testing {

const BackendFactory& backend_factory() {
  static const CudaFactory factory{0};
  return factory;
}

}  // namespace belfry::testing
