// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Marks functions that run on the host and, when nvcc compiles them, on the GPU too.
#ifdef __CUDACC__
#define BELFRY_HOST_DEVICE __host__ __device__
#else
#define BELFRY_HOST_DEVICE
#endif
