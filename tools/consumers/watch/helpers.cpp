// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "helpers.h"

void add_one(int* value) { ++*value; }
