// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace belfry::detail {

/// The current context of the running fiber or thread: a pointer that the runner owns and
/// interprets. Executors save and restore the pointer at every switch: the context follows the
/// replica, not the thread. A thread-local variable.
void* current_slot() noexcept;
void set_current_slot(void* context) noexcept;

}  // namespace belfry::detail
