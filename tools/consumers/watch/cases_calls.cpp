// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "helpers.h"
#include "replicas.h"

#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

Row memcpy_twice() {
  std::vector<char> shared(64);
  const std::vector<char> from(64, 'x');
  const Body body = [&](std::size_t, int) { std::memcpy(shared.data(), from.data(), from.size()); };
  return {text(watched(1, body)),
          wrote(__FILE__, __LINE__ - 2) + ", " + wrote(__FILE__, __LINE__ - 2)};
}

Row strlen_beside_write() {
  char word[] = "a word";
  std::size_t length = 0;
  const Body body = [&](std::size_t id, int) {
    if (id == 0) length = std::strlen(word);
    if (id == 1) word[3] = 0;
  };
  return {text(watched(1, body)),
          did_read(__FILE__, __LINE__ - 4) + ", " + wrote(__FILE__, __LINE__ - 3)};
}

Row watched_library() {
  int value = 0;
  const Body body = [&](std::size_t, int) { add_one(&value); };
  return {lines(watched(1, body)), "helpers.cpp:5"};
}

Row unwatched_function() {
  int value = 0;
  const Body body = [&](std::size_t, int) { stranger(&value); };
  return {text(watched(1, body)), "unseen stranger(int*)"};
}

Row unwatched_outside() {
  int value = 0;
  stranger(&value);
  const Body body = [](std::size_t, int) {};
  return {text(watched(1, body, [&] { stranger(&value); })), ""};
}

Row vouched_function() {
  int value = 0;
  const Body body = [&](std::size_t, int) { vouched_stranger(&value); };
  return {text(watched(1, body)), ""};
}

Row c_function() {
  const Body body = [](std::size_t, int) { std::fflush(stdout); };
  return {text(watched(1, body)), "unseen fflush"};
}

const std::string& name_of_all() {
  static const std::string name("a name with many letters");
  return name;
}

Row static_variable() {
  std::vector<std::size_t> got{name_of_all().size(), 0};
  const Body body = [&](std::size_t id, int) { got[id] = name_of_all().size(); };
  return {text(watched(1, body)), ""};
}

Row caught_exception() {
  std::vector<int> got(2);
  const Body body = [&](std::size_t id, int) {
    try {
      throw std::runtime_error("a message");
    } catch (const std::exception&) {
      got[id] = 1;
    }
  };
  return {text(watched(2, body)), ""};
}

}  // namespace

std::vector<Case> call_cases() {
  return {{"memcpy", memcpy_twice},
          {"strlen", strlen_beside_write},
          {"a function of a watched library", watched_library},
          {"a function that is not watched", unwatched_function},
          {"calls outside replicas", unwatched_outside},
          {"a function that the target vouches for", vouched_function},
          {"a function of the C library", c_function},
          {"a static variable of a function", static_variable},
          {"a caught exception", caught_exception}};
}
