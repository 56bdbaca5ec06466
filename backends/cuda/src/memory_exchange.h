// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/buffer.h"
#include "device_state.h"

#include <cuda_runtime.h>

#include <cstdint>

namespace belfry::cuda {

/// Checks by the first and the last byte that the work of `device` can use the program's memory: on
/// a GPU memory of that GPU or managed memory, on the host pinned or managed memory. Returns
/// whether every GPU can use the memory. Throws: InvalidArgumentError (kForeignObject);
/// DeviceError.
bool require_usable(const DeviceState& device, const ForeignMemory& memory);

/// The stream with this number in the Python array API.
cudaStream_t stream_of_number(std::int64_t number);

/// Work of `later` from now on starts after the work that `earlier` has by now; both are streams of
/// the GPU of `device`. Throws: DeviceError.
void order_after(DeviceState& device, cudaStream_t later, cudaStream_t earlier);

}  // namespace belfry::cuda
