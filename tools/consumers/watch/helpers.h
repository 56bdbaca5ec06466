// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

/// Has an inherited constructor, in watched and in other files.
struct Number {
  explicit Number(int* value) : value(value) { ++*value; }
  int* value;
};
struct CountedNumber : Number {
  using Number::Number;
};

/// A variable of an unwatched library, with parentheses in the name.
template <class Function>
struct Registry {
  static int count;
};
template <>
int Registry<int(char)>::count;

/// The linker could take the table of virtual functions from an unwatched file.
struct Writer {
  virtual ~Writer() = default;
  virtual void write(int* value) { ++*value; }
};

/// Made in a file without a watch.
struct Logger {
  virtual ~Logger() = default;
  virtual void add(int* value) = 0;
};

/// In a watched library.
void add_one(int* value);
/// In a file that is not watched.
void plain_push_back(std::vector<long>* values);
Writer* plain_writer();
void stranger(int* value);
std::unique_ptr<Logger> strange_logger(int* ended);
std::function<void(int*)> strange_function();
std::shared_ptr<int> strange_owner(int* value);
using Change = void (*)(int*);
Change strange_change();
Change vouched_change();
/// A function that adds its arguments.
using Sum = double (*)(int, int, int, int, int, int, double, double, double, double, double, double,
                       double, double, int);
Sum strange_sum();
void vouched_stranger(int* value);
void vouched_with_text(const std::string& text, int* value);
/// Vouched for by the name alone.
void vouched_by_name(int* value);
void vouched_by_name(const std::string& text, int* value);
void vouched_by_name_no_more(const std::string& text, int* value);
