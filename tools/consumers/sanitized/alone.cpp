// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// A program without belfry, whose options are the project's own.
int main() {}
