// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "collectives/order_after.h"

namespace belfry {

void order_after(Stream& later, Stream& earlier, Device& device) {
  const auto done = device.create_event();
  earlier.record(*done);
  later.wait(*done);
}

}  // namespace belfry
