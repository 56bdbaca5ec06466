// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "helpers.h"
#include "replicas.h"

#include <cxxabi.h>

#include <cctype>
#include <cfenv>
#include <charconv>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <typeinfo>
#include <vector>

namespace {

Row text_of_an_exception() {
  std::string shared("some text that is long enough for memory of its own");
  std::vector<std::string> got(2);
  const Body body = [&](std::size_t id, int) {
    if (id == 0) got[id] = std::out_of_range(shared).what();
    if (id == 1) shared[3] = '!';
  };
  return {text(watched(1, body)),
          did_read(__FILE__, __LINE__ - 4) + ", " + wrote(__FILE__, __LINE__ - 3)};
}

// The compiler writes the constructor, at the line of the declaration.
const int kInherited = __LINE__ + 2;
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

Row letters_of_an_exception() {
  char shared[] = "text";
  std::vector<std::string> got(2);
  const Body body = [&](std::size_t id, int) {
    if (id == 0) got[id] = Error(shared).what();
    if (id == 1) shared[2] = '!';
  };
  return {text(watched(1, body)),
          did_read(__FILE__, kInherited) + ", " + wrote(__FILE__, __LINE__ - 3)};
}

struct Base {
  virtual ~Base() = default;
};
struct Derived : Base {};

// The making of an object writes the pointer to the table of the type.
Row dynamic_type() {
  alignas(Base) unsigned char memory[sizeof(Base)];
  Base* const shared = new (memory) Base;
  std::vector<bool> got(2);
  bool is_derived = false;
  const Body body = [&](std::size_t id, int) {
    if (id == 0) is_derived = dynamic_cast<Derived*>(shared) != nullptr;
    if (id == 1) new (memory) Derived;
  };
  return {whether(watched(1, body)), "a conflict"};
}

Row name_of_a_type() {
  char shared[] = "i";
  std::vector<std::string> got(2);
  const Body body = [&](std::size_t id, int) {
    int status = 0;
    if (id == 0) std::free(abi::__cxa_demangle(shared, nullptr, nullptr, &status));
    if (id == 1) shared[0] = 'j';
  };
  return {text(watched(1, body)),
          did_read(__FILE__, __LINE__ - 4) + ", " + wrote(__FILE__, __LINE__ - 3)};
}

// std::stoi sets errno, and each replica has an errno of its own.
Row number_of_a_text() {
  std::vector<int> got(2);
  const Body body = [&](std::size_t id, int) { got[id] = std::stoi("17"); };
  return {text(watched(1, body)), ""};
}

Row shared_text_of_a_number() {
  char shared[] = "17 ";
  std::vector<long> got(2);
  const Body body = [&](std::size_t id, int) {
    if (id == 0) got[id] = std::strtol(shared, nullptr, 10);
    if (id == 1) shared[2] = '5';
  };
  return {text(watched(1, body)),
          did_read(__FILE__, __LINE__ - 4) + ", " + wrote(__FILE__, __LINE__ - 3)};
}

// The number is 1, and the function looks for an exponent.
Row part_of_an_exponent() {
  char shared[] = "1e+x";
  std::vector<double> got(2);
  const Body body = [&](std::size_t id, int) {
    if (id == 0) got[id] = std::strtod(shared, nullptr);
    if (id == 1) shared[3] = '5';
  };
  return {text(watched(1, body)),
          did_read(__FILE__, __LINE__ - 4) + ", " + wrote(__FILE__, __LINE__ - 3)};
}

Row sine_and_cosine() {
  std::vector<double> got(2);
  volatile double angle = 0.5;
  const Body body = [&](std::size_t id, int) {
    const double mine = angle;
    got[id] = std::sin(mine) * std::cos(mine) + std::abs(std::complex<double>(mine, 1));
  };
  return {text(watched(1, body)), ""};
}

Row text_of_a_position() {
  char shared[] = "text";
  std::vector<std::string> got(2, std::string(8, ' '));
  const Body body = [&](std::size_t id, int) {
    if (id == 0) std::snprintf(got[id].data(), 8, "%1$s", shared);
    if (id == 1) shared[2] = '!';
  };
  return {text(watched(1, body)), "unseen printf with %ls, or with arguments by position"};
}

Row digits_of_a_number() {
  char shared[] = "0.25 ";
  std::vector<double> got(2);
  char digits[32];
  const Body body = [&](std::size_t id, int) {
    if (id == 0) std::from_chars(shared, shared + 5, got[id]);
    if (id == 1) std::to_chars(shared, shared + 4, 0.75);
    if (id == 1) std::to_chars(digits, digits + 32, 0.75F);
  };
  return {text(watched(1, body)),
          did_read(__FILE__, __LINE__ - 5) + ", " + wrote(__FILE__, __LINE__ - 4)};
}

Row parts_of_a_number() {
  volatile double number = 2.5;
  double whole = 0;
  int exponent = 0;
  std::vector<double> got(2);
  const Body body = [&](std::size_t id, int) {
    if (id == 0) got[id] = std::modf(number, &whole);
    if (id == 1) got[id] = whole + std::frexp(number, &exponent) + std::isalpha('a');
  };
  return {text(watched(1, body)),
          wrote(__FILE__, __LINE__ - 4) + ", " + did_read(__FILE__, __LINE__ - 3)};
}

// Functions of numbers, without a note.
Row further_numbers() {
  std::vector<double> got(2);
  int shared = 0;
  volatile double number = 2.5;
  const Body body = [&](std::size_t id, int) {
    int bits = 0;
    got[id] = std::lgamma(number) + std::remquo(number, 2, &bits) + std::scalbln(number, 2) +
              std::nexttoward(number, 3) + std::log10(number) + std::nan("") +
              std::arg(std::asin(std::complex<double>(number, 1))) + ::j0(number) +
              std::fegetround();
  };
  const Body quotients = [&](std::size_t id, int) { got[id] = std::remquo(number, 2, &shared); };
  return {text(watched(1, body)) + whether(watched(1, quotients)), "a conflict"};
}

// The address of a function of C, in code without a call.
Row single_calls() {
  std::vector<int> got(2);
  const Body body = [&](std::size_t id, int) {
    static std::once_flag flag;
    if (got.size() == 3) std::call_once(flag, [] {});
    got[id] = 1;
  };
  return {text(watched(1, body)), ""};
}

// Other calls of the function could be of any class.
Row virtual_function() {
  const std::unique_ptr<Writer> plain(plain_writer());
  const auto own = std::make_unique<Writer>();
  const std::vector<Writer*> writers{own.get(), plain.get()};
  int value = 0;
  const Body body = [&](std::size_t, int) { writers[0]->write(&value); };
  return {lines(watched(1, body)), "helpers.h:30"};
}

// A variable with parentheses in the name is no function.
Row variable_of_a_library() {
  std::vector<int> got(2);
  const Body body = [&](std::size_t id, int) { got[id] = Registry<int(char)>::count; };
  std::string seen = text(watched(1, body));
  if (got[1] != 7) seen += "other memory";
  return {seen, ""};
}

}  // namespace

std::vector<Case> language_cases() {
  return {{"the text of an exception", text_of_an_exception},
          {"the letters of an exception", letters_of_an_exception},
          {"a dynamic type", dynamic_type},
          {"the name of a type", name_of_a_type},
          {"the number of a text", number_of_a_text},
          {"the shared text of a number", shared_text_of_a_number},
          {"a part of an exponent", part_of_an_exponent},
          {"sine and cosine", sine_and_cosine},
          {"a text by its position", text_of_a_position},
          {"the digits of a number", digits_of_a_number},
          {"the parts of a number", parts_of_a_number},
          {"further functions of numbers", further_numbers},
          {"a call_once that nobody makes", single_calls},
          {"a virtual function in a header", virtual_function},
          {"a variable of an unwatched library", variable_of_a_library}};
}
