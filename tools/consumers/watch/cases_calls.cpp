// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "helpers.h"
#include "replicas.h"

#include <strings.h>

#include <cstdio>
#include <cstdlib>
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

struct Parts {
  long parts[3];
};

// Compilers replace calls with few bytes by instructions.
Row few_bytes() {
  Parts shared{};
  const Parts from{{1, 2, 3}};
  const Body body = [&](std::size_t, int) { std::memcpy(&shared, &from, sizeof shared); };
  return {text(watched(1, body)),
          wrote(__FILE__, __LINE__ - 2) + ", " + wrote(__FILE__, __LINE__ - 2)};
}

Row few_bytes_of_headers() {
  Parts shared{};
  const Body body = [&](std::size_t, int) { __builtin_memset(&shared, 0, sizeof shared); };
  return {text(watched(1, body)),
          wrote(__FILE__, __LINE__ - 2) + ", " + wrote(__FILE__, __LINE__ - 2)};
}

Row few_bytes_of_zeros() {
  Parts shared{};
  const Body body = [&](std::size_t, int) { __builtin_bzero(&shared, sizeof shared); };
  return {text(watched(1, body)),
          wrote(__FILE__, __LINE__ - 2) + ", " + wrote(__FILE__, __LINE__ - 2)};
}

Row few_letters() {
  char shared[4] = "";
  const Body body = [&](std::size_t, int) { __builtin_stpcpy(shared, "abc"); };
  return {text(watched(1, body)),
          wrote(__FILE__, __LINE__ - 2) + ", " + wrote(__FILE__, __LINE__ - 2)};
}

Row few_bytes_compared() {
  Parts shared{};
  const Parts with{{0, 2, 3}};
  bool equal = false;
  const Body body = [&](std::size_t id, int) {
    if (id == 0) equal = std::memcmp(&shared, &with, 8) == 0;
    if (id == 1) shared.parts[0] = 1;
  };
  std::string seen = text(watched(1, body));
  if (!equal) seen += ", and the bytes differ";
  return {seen, did_read(__FILE__, __LINE__ - 5) + ", " + wrote(__FILE__, __LINE__ - 4)};
}

// Each of the two texts in turn is shared, for each function of two texts.
template <class Compare>
bool sees_both(const Compare& compare) {
  bool sees = true;
  for (std::size_t odd = 0; odd < 2; ++odd) {
    char shared[16] = "the same text";
    const char own[16] = "the same text";
    volatile long got = 0;
    const Body body = [&](std::size_t id, int) {
      if (id == 0) got = odd == 0 ? compare(shared, own) : compare(own, shared);
      if (id == 1) shared[2] = '!';
    };
    const std::string seen = text(watched(1, body));
    sees &= seen.find("read, " + wrote(__FILE__, __LINE__ - 3)) != seen.npos;
  }
  return sees;
}

Row two_texts() {
  std::string missed;
  const auto expect = [&](const char* name, bool sees) { missed += sees ? "" : name; };
  expect("memcmp ", sees_both([](const char* a, const char* b) { return std::memcmp(a, b, 4); }));
  expect("bcmp ", sees_both([](const char* a, const char* b) { return ::bcmp(a, b, 4); }));
  expect("built-in memcmp ",
         sees_both([](const char* a, const char* b) { return __builtin_memcmp(a, b, 4); }));
  expect("strcmp ", sees_both([](const char* a, const char* b) { return std::strcmp(a, b); }));
  expect("strncmp ", sees_both([](const char* a, const char* b) { return std::strncmp(a, b, 4); }));
  expect("strstr ", sees_both([](const char* a, const char* b) { return std::strstr(a, b) - a; }));
  return {missed, ""};
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

Row unwatched_file() {
  std::vector<long> values;
  const Body body = [&](std::size_t id, int) {
    if (id == 0) plain_push_back(&values);
    if (id == 1) values.push_back(1);
  };
  values.reserve(2);
  Row row{text(watched(1, body)),
          "unseen plain_push_back(std::vector<long, std::allocator<long> >*)"};
  const Body both = [&](std::size_t, int) { values.push_back(1); };
  row.seen += "; " + lines(watched(1, both));
  row.expected += "; " + at_line(__FILE__, __LINE__ - 2);
  return row;
}

Row inherited_constructor() {
  int value = 0;
  stranger(&value);
  const Body body = [&](std::size_t, int) { CountedNumber number(&value); };
  return {lines(watched(1, body)), "helpers.h:12"};
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

Row vouched_functions() {
  int value = 0;
  const std::string words = "words";
  const Body body = [&](std::size_t, int) {
    vouched_with_text(words, &value);
    vouched_by_name(words, &value);
    vouched_by_name(&value);
    vouched_by_name_no_more(words, &value);
  };
  return {text(watched(1, body)), "unseen vouched_by_name_no_more(std::string const&, int*)"};
}

Row c_function() {
  const Body body = [](std::size_t, int) { std::rewind(stdin); };
  return {text(watched(1, body)), "unseen rewind"};
}

// std::to_string passes vsnprintf by its address.
Row printed_number() {
  std::vector<std::string> got(2);
  const Body body = [&](std::size_t id, int) { got[id] = std::to_string(0.5); };
  return {text(watched(1, body)), ""};
}

Row printed_text() {
  const std::string word("word");
  const Body body = [&](std::size_t, int) {
    char to[20];
    std::snprintf(to, sizeof to, "%5d %-9s", 3, word.c_str());
  };
  return {text(watched(1, body)), ""};
}

// The text or the number of an argument is shared: at each place of the arguments in turn.
Row printed_arguments() {
  std::string missed;
  for (int odd = 0; odd < 3; ++odd) {
    char shared[] = "a word";
    const char* const texts[] = {odd == 0 ? shared : "a", odd == 1 ? shared : "b",
                                 odd == 2 ? shared : "c"};
    char to[99];
    const Body body = [&](std::size_t id, int) {
      if (id == 0) {
        std::snprintf(to, sizeof to, "%c%5.1f%%%s %*ld %s%Lg%.4s%hhd", 'c', 2.5, texts[0], 7, 8L,
                      texts[1], 0.5L, texts[2], 9);
      }
      if (id == 1) shared[3] = '!';
    };
    const bool is_seen = text(watched(1, body)) ==
                         did_read(__FILE__, __LINE__ - 6) + ", " + wrote(__FILE__, __LINE__ - 3);
    if (!is_seen) missed += std::to_string(odd) + ' ';
  }
  return {missed, ""};
}

// Of `%.2s` two letters are read; `%n` writes.
Row parts_of_arguments() {
  char shared[] = "a word";
  int count = 0;
  char to[9];
  const Body part = [&](std::size_t id, int) {
    if (id == 0) std::sprintf(to, "%.2s", shared);
    if (id == 1) shared[2] = '!';
  };
  const Body counts = [&](std::size_t id, int) {
    char own[9];
    if (id == 0) std::snprintf(own, sizeof own, "abc%n", &count);
    if (id == 1) count = 7;
  };
  return {text(watched(1, part)) + text(watched(1, counts)),
          wrote(__FILE__, __LINE__ - 4) + ", " + wrote(__FILE__, __LINE__ - 3)};
}

// Each function in turn, by a single replica and by both.
Row prints_to_a_file() {
  std::FILE* const file = std::tmpfile();
  const std::vector<void (*)(std::FILE*)> prints{
      [](std::FILE* to) { std::fprintf(to, "%d", 1); },  [](std::FILE* to) { std::fputs("a", to); },
      [](std::FILE* to) { std::fputc('a', to); },        [](std::FILE* to) { putc('a', to); },
      [](std::FILE* to) { std::fwrite("a", 1, 1, to); }, [](std::FILE* to) { std::fflush(to); },
      [](std::FILE*) { std::printf("%d", 1); },          [](std::FILE*) { std::fflush(nullptr); }};
  std::string wrong;
  for (std::size_t k = 0; k < prints.size(); ++k) {
    const Body one = [&](std::size_t id, int) {
      if (id == 1) prints[k](file);
    };
    const Body both = [&](std::size_t, int) { prints[k](file); };
    wrong += text(watched(1, one));
    if (watched(1, both).conflicts.empty()) wrong += std::to_string(k) + " missed ";
  }
  std::fclose(file);
  return {wrong, ""};
}

// Called by a pointer: the calls that replicas do not make are no matter.
Row function_by_pointer() {
  void (*volatile rewind)(std::FILE*) = std::rewind;
  const Body body = [&](std::size_t, int) { rewind(stdin); };
  Row row{text(watched(1, [](std::size_t, int) {})), ""};
  row.seen += text(watched(1, body));
  row.expected = "unseen rewind";
  return row;
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

// The block has room: realloc keeps the place of the block.
Row enlarged_block() {
  auto* const block = static_cast<char*>(std::malloc(64));
  void* enlarged = nullptr;
  const Body body = [&](std::size_t id, int) {
    if (id == 0) block[7] = 1;
    if (id == 1) enlarged = std::realloc(block, 66);
  };
  Row row{text(watched(1, body)),
          wrote(__FILE__, __LINE__ - 4) + ", " + wrote(__FILE__, __LINE__ - 3)};
  std::free(enlarged);
  return row;
}

// The second replica comes after the first.
Row block_kept_in_place() {
  auto* const block = static_cast<char*>(std::malloc(64));
  void* shrunk = nullptr;
  std::vector<char> got(2);
  const Body body = [&](std::size_t id, int) {
    if (id == 0) shrunk = std::realloc(block, 60);
    if (id == 1) got[id] = block[7];
  };
  Row row{text(watched(1, body)),
          wrote(__FILE__, __LINE__ - 4) + ", " + did_read(__FILE__, __LINE__ - 3)};
  std::free(shrunk);
  return row;
}

Row pointer_to_a_block() {
  void* shared = nullptr;
  std::vector<void*> blocks(2);
  const Body body = [&](std::size_t id, int) {
    if (posix_memalign(&shared, 64, 64) == 0) blocks[id] = shared;
  };
  Row row{lines(watched(1, body)), at_line(__FILE__, __LINE__ - 2)};
  for (void* const block : blocks) std::free(block);
  return row;
}

}  // namespace

std::vector<Case> call_cases() {
  return {{"memcpy", memcpy_twice},
          {"memcpy of few bytes", few_bytes},
          {"a built-in memset of few bytes", few_bytes_of_headers},
          {"a built-in bzero of few bytes", few_bytes_of_zeros},
          {"a built-in stpcpy of few bytes", few_letters},
          {"memcmp of few bytes", few_bytes_compared},
          {"both texts of functions of two texts", two_texts},
          {"strlen", strlen_beside_write},
          {"a function of a watched library", watched_library},
          {"a function that is not watched", unwatched_function},
          {"a file without the option", unwatched_file},
          {"an inherited constructor", inherited_constructor},
          {"calls outside replicas", unwatched_outside},
          {"a function that the target vouches for", vouched_function},
          {"functions that the target vouches for, with and without parameters", vouched_functions},
          {"a function of the C library", c_function},
          {"a printed number", printed_number},
          {"a printed text", printed_text},
          {"the arguments of a print", printed_arguments},
          {"parts of the arguments of a print", parts_of_arguments},
          {"prints to a file", prints_to_a_file},
          {"a function by its address", function_by_pointer},
          {"a static variable of a function", static_variable},
          {"a caught exception", caught_exception},
          {"a block that realloc enlarges", enlarged_block},
          {"a block that realloc keeps in its place", block_kept_in_place},
          {"the pointer of posix_memalign", pointer_to_a_block}};
}
