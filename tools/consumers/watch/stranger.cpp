// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "helpers.h"

template <>
int Registry<int(char)>::count = 7;

void stranger(int* value) { CountedNumber number(value); }
namespace {
struct StrangeLogger final : Logger {
  explicit StrangeLogger(int* ended) : ended(ended) {}
  ~StrangeLogger() override { ++*ended; }
  void add(int* value) override { ++*value; }
  int* ended;
};
void strange_end(int* value) { ++*value; }
}  // namespace

std::unique_ptr<Logger> strange_logger(int* ended) {
  return std::make_unique<StrangeLogger>(ended);
}
std::function<void(int*)> strange_function() {
  return [](int* value) { ++*value; };
}
std::shared_ptr<int> strange_owner(int* value) {
  return {value, [](int* owned) { ++*owned; }};
}
Change strange_change() { return strange_end; }
Sum strange_sum() {
  return [](int a, int b, int c, int d, int e, int f, double g, double h, double i, double j,
            double k, double l, double m, double n,
            int o) { return a + b + c + d + e + f + g + h + i + j + k + l + m + n + o; };
}
Change vouched_change() { return vouched_stranger; }
void vouched_stranger(int* value) { ++*value; }
void vouched_with_text(const std::string&, int* value) { ++*value; }
void vouched_by_name(int* value) { ++*value; }
void vouched_by_name(const std::string&, int* value) { ++*value; }
void vouched_by_name_no_more(const std::string&, int* value) { ++*value; }
