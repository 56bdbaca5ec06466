// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "drawing.h"

namespace pictures {

// Each function runs a program on the simulator, and draws what the program returned. Every number
// in a picture is such a value, beside the numbers of replicas, hosts and steps.
Drawing replica();
Drawing merge();
Drawing all_reduce();
Drawing variables();
Drawing tower_local();
Drawing ring();
Drawing additions();
Drawing race();
Drawing job();

}  // namespace pictures
