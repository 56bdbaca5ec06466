// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Runs a program.
//
//     RUNNER PROGRAM [argument ...]
#include "runner/entry.h"

int main(int count, char** arguments) {
  const belfry::testing::Entry& program = belfry::testing::entry_of(count > 1 ? arguments[1] : "");
  return program.main(count - 1, arguments + 1);
}
