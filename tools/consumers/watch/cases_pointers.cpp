// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Calls by pointers from replicas.
#include "helpers.h"
#include "replicas.h"

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

#ifdef __x86_64__
constexpr bool kIsNoted = true;
#else
constexpr bool kIsNoted = false;
#endif

// The names in the order of the report, if any is noted.
std::string unseen(const std::string& name, const std::string& more = {}) {
  return kIsNoted ? "unseen " + name + (more.empty() ? "" : "; unseen " + more) : "";
}

Row interface() {
  int value = 0;
  const auto logger = strange_logger(&value);
  const Body body = [&](std::size_t, int) { logger->add(&value); };
  return {text(watched(1, body)), unseen("(anonymous namespace)::StrangeLogger::add(int*)")};
}

Row virtual_destructor() {
  int value = 0;
  std::unique_ptr<Logger> loggers[] = {strange_logger(&value), strange_logger(&value)};
  const Body body = [&](std::size_t id, int) { loggers[id].reset(); };
  return {text(watched(1, body)), unseen("(anonymous namespace)::StrangeLogger::~StrangeLogger()")};
}

Row stored_function() {
  int value = 0;
  const std::function<void(int*)> function = strange_function();
  const Body body = [&](std::size_t, int) { function(&value); };
  const std::string seen = text(watched(1, body));
  return {seen.find("_Function_handler") == seen.npos ? seen : unseen("the handler"),
          unseen("the handler")};
}

Row deleter() {
  int value = 0;
  std::shared_ptr<int> owners[] = {strange_owner(&value), strange_owner(&value)};
  const Body body = [&](std::size_t id, int) { owners[id].reset(); };
  const std::string seen = text(watched(1, body));
  return {seen.find("_Sp_counted_deleter") == seen.npos ? seen : unseen("the deleter"),
          unseen("the deleter")};
}

// Each of the two replicas in turn makes the call alone.
Row plain_pointer() {
  int value = 0;
  Row row;
  for (std::size_t odd = 0; odd < 2; ++odd) {
    const Change change = strange_change();
    const Body body = [&](std::size_t id, int) {
      if (id == odd) change(&value);
    };
    row.seen += text(watched(1, body));
    row.expected += unseen("(anonymous namespace)::strange_end(int*)");
  }
  return row;
}

// A call at the end of a function.
[[gnu::noinline]] void change_at_the_end(Change change, int* value) { change(value); }
Row last_call() {
  int value = 0;
  const Change change = strange_change();
  const Body body = [&](std::size_t, int) { change_at_the_end(change, &value); };
  return {text(watched(1, body)), unseen("(anonymous namespace)::strange_end(int*)")};
}

Row vouched_pointer() {
  int value = 0;
  const Change change = vouched_change();
  const Body body = [&](std::size_t, int) { change(&value); };
  return {text(watched(1, body)), ""};
}

Row pointers_outside() {
  int value = 0;
  const auto logger = strange_logger(&value);
  const Body body = [](std::size_t, int) {};
  logger->add(&value);
  return {text(watched(1, body, [&] { logger->add(&value); })), ""};
}

struct OwnLogger final : Logger {
  explicit OwnLogger(int* ended) : ended(ended) {}
  ~OwnLogger() override { ++*ended; }
  void add(int* value) override { ++*value; }
  int* ended;
};

// The same calls of functions of this file: the watch sees the accesses.
Row own_pointers() {
  struct Slot {
    alignas(64) int value = 0;
  };
  std::vector<Slot> slots(2);
  const Body body = [&](std::size_t id, int) {
    int* const value = &slots[id].value;
    std::unique_ptr<Logger> logger = std::make_unique<OwnLogger>(value);
    logger->add(value);
    logger.reset();
    const std::function<void(int*)> function = [&](int* to) { *to += 2; };
    function(value);
    std::shared_ptr<int> owner(value, [](int* owned) { ++*owned; });
    owner.reset();
  };
  Row row{text(watched(1, body)), ""};
  if (slots[0].value != 5 || slots[1].value != 5) row.seen += "; the wrong value";
  return row;
}

// A virtual function of the C++ library.
Row text_of_an_exception() {
  std::vector<std::string> got(2);
  const Body body = [&](std::size_t id, int) {
    try {
      throw std::out_of_range("a message");
    } catch (const std::exception& error) {
      got[id] = error.what();
    }
  };
  return {text(watched(1, body)), ""};
}

// On the way to a function outside, the registers keep the arguments.
Row many_arguments() {
  std::vector<double> got(2);
  const Sum sum = strange_sum();
  const Body body = [&](std::size_t id, int) {
    got[id] = sum(1, 2, 3, 4, 5, 6, 7.5, 8, 9, 10, 11, 12, 13, 14, 15);
  };
  Row row{text(watched(1, body)), ""};
  row.seen = got == std::vector<double>{120.5, 120.5} ? "equal" : "different";
  row.expected = "equal";
  return row;
}

}  // namespace

std::vector<Case> pointer_cases() {
  return {{"a function of an interface", interface},
          {"a virtual destructor", virtual_destructor},
          {"the function in a std::function", stored_function},
          {"a deleter", deleter},
          {"a pointer to a function", plain_pointer},
          {"a call at the end of a function", last_call},
          {"a pointer to a function that the target vouches for", vouched_pointer},
          {"calls by pointers outside replicas", pointers_outside},
          {"functions of watched files by pointers", own_pointers},
          {"the text of an exception by a virtual function", text_of_an_exception},
          {"many arguments", many_arguments}};
}
