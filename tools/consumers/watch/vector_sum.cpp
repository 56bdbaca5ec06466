// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Functions with accesses of 32 bytes, to memory and to a variable, and one without.
using Long = float __attribute__((vector_size(32)));

Long eight;

namespace {

[[gnu::noinline]] void twice() { eight += eight; }

}  // namespace

void add_eight(float* to, const float* from) {
  *reinterpret_cast<Long*>(to) += *reinterpret_cast<const Long*>(from);
}

void double_eight() { twice(); }

void add_one(float* to, const float* from) { *to += *from; }
