// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "replicas.h"

#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

template <class Error>
Row assigned_error() {
  Error shared("no replica");
  const Body body = [&](std::size_t id, int) { shared = Error(id == 0 ? "first" : "second"); };
  return {whether(watched(1, body)), "a conflict"};
}

Row read_text() {
  std::runtime_error shared("no replica");
  std::vector<std::string> got(2);
  const Body body = [&](std::size_t id, int) {
    if (id == 0) shared = std::runtime_error("first");
    if (id == 1) got[id] = shared.what();
  };
  return {whether(watched(1, body)), "a conflict"};
}

Row copied_error() {
  std::logic_error shared("no replica");
  std::vector<std::string> got(2);
  const Body body = [&](std::size_t id, int) {
    if (id == 0) shared = std::logic_error("first");
    if (id == 1) got[id] = std::logic_error(shared).what();
  };
  return {whether(watched(1, body)), "a conflict"};
}

Row made_error() {
  alignas(std::range_error) char memory[sizeof(std::range_error)];
  const Body body = [&](std::size_t id, int) {
    (new (memory) std::range_error(id == 0 ? "first" : "second"))->~range_error();
  };
  return {whether(watched(1, body)), "a conflict"};
}

Row read_errors() {
  const std::runtime_error shared("no replica");
  std::vector<std::string> got(2);
  const Body body = [&](std::size_t id, int) {
    const std::runtime_error own(shared);
    got[id] = std::string(shared.what()) + own.what();
  };
  return {text(watched(1, body)), ""};
}

Row owners_of_an_exception() {
  const std::exception_ptr shared = std::make_exception_ptr(1);
  std::vector<int> got(2);
  const Body body = [&](std::size_t id, int) {
    const std::exception_ptr own = shared;
    got[id] = own != nullptr ? 1 : 0;
  };
  return {text(watched(1, body)), ""};
}

Row last_owner_of_an_exception() {
  std::exception_ptr shared = std::make_exception_ptr(1);
  std::vector<std::exception_ptr> owners{shared, shared};
  shared = nullptr;
  const Body body = [&](std::size_t id, int) { owners[id] = nullptr; };
  return {text(watched(1, body)), "last owner"};
}

// The end of the catch block ends the last owner.
Row last_owner_caught() {
  std::exception_ptr shared = std::make_exception_ptr(1);
  std::vector<std::exception_ptr> owners{shared, shared};
  shared = nullptr;
  const Body body = [&](std::size_t id, int) {
    try {
      std::rethrow_exception(std::exchange(owners[id], nullptr));
    } catch (int) {
    }
  };
  return {text(watched(1, body)), "last owner"};
}

Row own_exceptions() {
  std::vector<int> got(2);
  const Body body = [&](std::size_t id, int) {
    try {
      try {
        throw std::string("own");
      } catch (const std::string&) {
        throw;
      }
    } catch (const std::string&) {
      got[id] = 1;
    }
  };
  return {text(watched(1, body)), ""};
}

struct Holder {
  std::exception_ptr exception;
};

// The result of the call is a part of the object.
Row present_exception() {
  alignas(Holder) char memory[sizeof(Holder)];
  std::vector<Holder*> made(2);
  const Body body = [&](std::size_t id, int) {
    try {
      throw 1;
    } catch (int) {
      made[id] = new (memory) Holder{std::current_exception()};
    }
  };
  return {whether(watched(1, body)), "a conflict"};
}

}  // namespace

std::vector<Case> exception_cases() {
  return {{"a shared runtime_error", assigned_error<std::runtime_error>},
          {"a shared logic_error", assigned_error<std::logic_error>},
          {"a shared out_of_range", assigned_error<std::out_of_range>},
          {"the text of a shared exception", read_text},
          {"a copy of a shared exception", copied_error},
          {"exceptions made in shared memory", made_error},
          {"reads of a shared exception", read_errors},
          {"owners of an exception", owners_of_an_exception},
          {"the last owner of an exception", last_owner_of_an_exception},
          {"the last owner of an exception, caught", last_owner_caught},
          {"exceptions of each replica", own_exceptions},
          {"the present exception in shared memory", present_exception}};
}
