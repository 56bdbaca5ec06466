// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// All functions that compute with tensors.
#include "belfry/tensor_arithmetic.h"
#include "belfry/tensor_axis.h"
#include "belfry/tensor_compare.h"
#include "belfry/tensor_math.h"
#include "belfry/tensor_matrix.h"
#include "belfry/tensor_random.h"
#include "belfry/tensor_update.h"
