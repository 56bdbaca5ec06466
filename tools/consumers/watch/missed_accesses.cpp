// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Programs with accesses without instrumentation, by compilers or by functions of belfry. Two
// replicas touch a common object, and the order decides the outcome: REFUTED. In the twins each
// replica touches an object of its own: CERTIFIED. Exits with 1 if a verdict differs.
#include <belfry/belfry.h>
#include <belfry/sim/backend.h>
#include <belfry/sim/explore.h>
#include <belfry/sim/verdict.h>

#include <complex>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <string_view>
#include <vector>

namespace {

using namespace belfry;
/// The place of the object of replica `id`.
using Place = std::function<std::size_t(int id)>;
using Program = double (*)(sim::Backend&, const Place&);

void on_replicas(sim::Backend& backend, const std::function<void(int)>& body) {
  MirroredStrategy strategy{backend};
  strategy.run([&](ReplicaContext& replica) { body(replica.replica_id()); });
}

struct Large {
  double values[8];
};

[[gnu::noinline]] std::complex<double> number_of(int id) { return {1.0 + id, 2.0}; }
[[gnu::noinline]] std::string_view name_of(int id) { return id == 0 ? "a" : "two letters"; }
[[gnu::noinline]] Large large_of(int id) { return {{1.0 + id, 0, 0, 0, 0, 0, 0, 3.0 + id}}; }
[[gnu::noinline]] double sum_of(std::complex<double> number) { return number.real(); }
[[gnu::noinline]] double sum_of(std::string_view text) { return static_cast<double>(text.size()); }
[[gnu::noinline]] double sum_of(Large large) { return large.values[0] + large.values[7]; }

// Each replica stores the result of a call; the outcome is the first object.
template <class Object>
double store(sim::Backend& backend, const Place& place, Object (*make)(int)) {
  std::vector<Object> objects(2);
  on_replicas(backend, [&](int id) { objects[place(id)] = make(id); });
  return sum_of(objects[0]);
}
double store_number(sim::Backend& b, const Place& place) { return store(b, place, number_of); }
double store_name(sim::Backend& b, const Place& place) { return store(b, place, name_of); }
double store_large(sim::Backend& b, const Place& place) { return store(b, place, large_of); }

// Replica 0 changes its object, and replica 1 passes its object to a call by value.
template <class Object, class Change>
double pass(sim::Backend& backend, const Place& place, const Change& change) {
  std::vector<Object> objects(2);
  double got = 0;
  on_replicas(backend, [&](int id) {
    if (id == 0) {
      change(objects[place(id)]);
    } else {
      got = sum_of(objects[place(id)]);
    }
  });
  return got;
}
double pass_number(sim::Backend& b, const Place& place) {
  return pass<std::complex<double>>(b, place, [](auto& number) { number.real(7); });
}
double pass_name(sim::Backend& b, const Place& place) {
  return pass<std::string_view>(b, place, [](auto& name) { name = "seven"; });
}
double pass_large(sim::Backend& b, const Place& place) {
  return pass<Large>(b, place, [](auto& large) { large.values[7] = 7; });
}

double long_number(sim::Backend& backend, const Place& place) {
  std::vector<long double> numbers(2);
  on_replicas(backend, [&](int id) { numbers[place(id)] = 1 + id; });
  return static_cast<double>(numbers[0]);
}

double shape(sim::Backend& backend, const Place& place) {
  std::vector<Shape> shapes(2, Shape{3});
  double got = 0;
  on_replicas(backend, [&](int id) {
    if (id == 0) {
      shapes[place(id)] = Shape{4};
    } else {
      got = static_cast<double>(shapes[place(id)].extent(0));
    }
  });
  return got;
}

struct Row {
  const char* name;
  Program program;
};

constexpr Row kRows[] = {{"a stored number", store_number},     {"a stored text", store_name},
                         {"a stored structure", store_large},   {"a passed number", pass_number},
                         {"a passed text", pass_name},          {"a passed structure", pass_large},
                         {"a number of 16 bytes", long_number}, {"the extents of a shape", shape}};

bool has_level(const char* name, const Row& row, const Place& place, sim::VerdictLevel level) {
  const sim::Verdict verdict =
      sim::explore({.devices = 2}, [&](sim::Backend& b) { return row.program(b, place); });
  if (verdict.level() == level) return true;
  std::printf("%s, %s:\n%s", row.name, name, explain(verdict).c_str());
  return false;
}

}  // namespace

int main() {
  int failed = 0;
  for (const Row& row : kRows) {
    const Place common = [](int) { return std::size_t{0}; };
    const Place own = [](int id) { return static_cast<std::size_t>(id); };
    failed += has_level("common", row, common, sim::VerdictLevel::kRefuted) ? 0 : 1;
    failed += has_level("own", row, own, sim::VerdictLevel::kCertified) ? 0 : 1;
  }
  std::printf("%zu programs and twins, %d verdicts differ\n", std::size(kRows), failed);
  return failed == 0 ? 0 : 1;
}
