# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0

# Read by ctest before the tests: every test has the same locale, whatever the user's. Messages of
# compilers and of the system, the order of `sort` and the encoding of Python depend on the locale.
set(ENV{LC_ALL} C.UTF-8)
unset(ENV{LANGUAGE})
