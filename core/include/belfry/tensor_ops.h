// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// All functions that compute with tensors, in parts. Each part begins with the rules of its
/// functions.
///   arithmetic: add, subtract, multiply, divide, maximum, minimum, and + - * / of two operands
///   axis:       concatenate, slice, axis_sum, along one axis of a tensor of any rank
///   compare:    equal, not_equal, less, less_equal, greater, greater_equal; select
///   math:       exp, log, tanh, sqrt, ... of one tensor, and cast
///   matrix:     matmul, sums of rows and columns, and rows by index: gather_rows, scatter_rows
///   random:     random_uniform, random_normal
///   update:     add_to, scale, add_scaled, ... in place
#include "belfry/detail/tensor/arithmetic.h"
#include "belfry/detail/tensor/axis.h"
#include "belfry/detail/tensor/compare.h"
#include "belfry/detail/tensor/math.h"
#include "belfry/detail/tensor/matrix.h"
#include "belfry/detail/tensor/random.h"
#include "belfry/detail/tensor/update.h"
