// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/kernel.h"

/// The host implementation of each kind of kernel, for validated calls.
namespace belfry::kernels {

void run_fill(const KernelCall& call);
void run_cast(const KernelCall& call);
void run_unary(const KernelCall& call);
void run_binary(const KernelCall& call);
void run_compare(const KernelCall& call);
void run_select(const KernelCall& call);
void run_row_reduce(const KernelCall& call);
void run_column_reduce(const KernelCall& call);
void run_gather_rows(const KernelCall& call);
void run_scatter_rows(const KernelCall& call);
void run_matmul(const KernelCall& call);
void run_random(const KernelCall& call);
void run_fused_update(const KernelCall& call);
void run_copy_each(const KernelCall& call);

}  // namespace belfry::kernels
