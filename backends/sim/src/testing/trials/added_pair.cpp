// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "testing/trials/added_pair.h"

#include <cstddef>
#include <vector>

namespace belfry::sim::testing {
namespace {

template <class Step>
void insert(std::vector<Step>& steps, const Step& step, DrawnNumbers& numbers) {
  steps.insert(steps.begin() + static_cast<std::ptrdiff_t>(numbers.below(steps.size() + 1)), step);
}

}  // namespace

// A replica writes its own buffer, and the second replica reads the buffer in its own stream.
void add_pair(RawProgram& program, DrawnNumbers& numbers) {
  const std::size_t writer = numbers.below(2);
  const std::size_t reader = 1 - writer;
  const RawStep write{RawStep::Kind::kFill, writer, writer, 20};
  RawStep read{RawStep::Kind::kRead, reader, writer, 0};
  if (numbers.one_in(2)) read = {RawStep::Kind::kCopy, reader, reader, writer};
  insert(program.replicas[writer], write, numbers);
  insert(program.replicas[reader], read, numbers);
  program.is_private = false;
}

// A replica changes a shared tensor or a captured cell.
void add_pair(PublicProgram& program, DrawnNumbers& numbers) {
  using Kind = PublicStep::Kind;
  constexpr Kind kReads[] = {Kind::kAddShared, Kind::kTakeHandle, Kind::kLaunchMix};
  const std::size_t writer = numbers.below(program.steps.size());
  const std::size_t reader =
      (writer + 1 + numbers.below(program.steps.size() - 1)) % program.steps.size();
  const std::size_t object = numbers.below(kShared);
  const bool on_host = numbers.one_in(2);
  const Kind read = on_host ? Kind::kReadCell : kReads[numbers.below(3)];
  const Kind write = on_host ? Kind::kWriteCell : Kind::kScaleShared;
  insert(program.steps[writer], {write, object, 3}, numbers);
  insert(program.steps[reader], {read, object, 1}, numbers);
  program.is_private = false;
}

}  // namespace belfry::sim::testing
