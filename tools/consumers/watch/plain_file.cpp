// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "helpers.h"

#include <vector>

// Instances of templates in this file must not stand for the instances in watched files.
void plain_push_back(std::vector<long>* values) { values->push_back(0); }
Writer* plain_writer() { return new Writer; }
