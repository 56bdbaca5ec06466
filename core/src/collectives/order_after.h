// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/device.h"

namespace belfry {

/// Work that is enqueued on `later` after this call starts after the work that is on `earlier` now.
/// `earlier` is a stream of `device`.
void order_after(Stream& later, Stream& earlier, Device& device);

}  // namespace belfry
