// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "helpers.h"

template <>
int Registry<int(char)>::count = 7;

void stranger(int* value) { CountedNumber number(value); }
void vouched_stranger(int* value) { ++*value; }
void vouched_with_text(const std::string&, int* value) { ++*value; }
void vouched_by_name(int* value) { ++*value; }
void vouched_by_name(const std::string&, int* value) { ++*value; }
void vouched_by_name_no_more(const std::string&, int* value) { ++*value; }
