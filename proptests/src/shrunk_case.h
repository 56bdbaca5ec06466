// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace belfry::testing {

/// Ends the traces of a shrunk case: a new case is drawn.
void end_shrunk_case();

}  // namespace belfry::testing
