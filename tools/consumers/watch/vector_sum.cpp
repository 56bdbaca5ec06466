// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

using Long = float __attribute__((vector_size(32)));

void add(Long* to, const Long* from) { *to += *from; }
