// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The suites on real GPUs: replicas spread over all GPUs, or all on the first.
#include "cuda_factory.h"

namespace belfry::testing {

const BackendFactory& backend_factory() {
  static const CudaFactory factory("cuda", nullptr);
  return factory;
}

}  // namespace belfry::testing
