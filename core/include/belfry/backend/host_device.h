// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/compiler.h"

/// Marks functions for the host and, if nvcc compiles them, for the GPU too.
#ifdef __CUDACC__
#define BELFRY_HOST_DEVICE __host__ __device__
#else
#define BELFRY_HOST_DEVICE
#endif
