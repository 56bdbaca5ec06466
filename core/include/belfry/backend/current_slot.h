// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace belfry::detail {

/// The context that is current on this carrier: a pointer the runner owns and interprets. Executors
/// save and restore it whenever they switch carriers, so that it follows the replica and not the
/// thread. One of the library's two mutable statics.
void* current_slot() noexcept;
void set_current_slot(void* context) noexcept;

}  // namespace belfry::detail
