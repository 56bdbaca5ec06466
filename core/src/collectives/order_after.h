// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/device.h"

namespace belfry {

/// Work enqueued on `later` from here on starts after what has been enqueued on `earlier`, a stream
/// of `device`.
void order_after(Stream& later, Stream& earlier, Device& device);

}  // namespace belfry
