// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "trace/remarks.h"

#include "trace/testing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace belfry::tool::remarks_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> remarks_of(const std::string& steps) {
  return remarks_on(trace_of(begin_of_trace() + steps + kEndOfTrace));
}

// An agent gives the weight other memory, 7 instead of 5. Replica 1 then adds memory `read`.
std::string weight_read_after_a_change(int read, const std::string& agent = "M0") {
  const std::string buffer = std::to_string(read);
  return R"({"step":0,"kind":"variable_made","agent":"H0","variable":0,"version":0,)"
         R"("writes":[{"type":"float32","shape":[1],"count":1,"buffer":5}]}
{"step":1,"kind":"variable_write","agent":")" +
         agent +
         R"(","variable":0,"version":1,"line":"w.cpp:3",)"
         R"("writes":[{"type":"float32","shape":[1],"count":1,"buffer":7}]}
{"step":2,"kind":"enqueue","agent":"R1","name":"add","stream":"S1","line":"w.cpp:4"}
{"step":3,"kind":"execute","agent":"S1","name":"add","line":"w.cpp:4","after":[2],)"
         R"("reads":[{"type":"float32","shape":[1],"count":1,"first":[1],"buffer":)" +
         buffer + "}]}\n";
}

TEST(Remarks, NameAReadOfAValueBeforeItsChange) {
  EXPECT_THAT(remarks_of(weight_read_after_a_change(5)),
              ElementsAre("add at w.cpp:4 of replica 1 reads the weight of before its change at "
                          "w.cpp:3"));
  EXPECT_THAT(remarks_of(weight_read_after_a_change(7)), IsEmpty());
  EXPECT_THAT(remarks_of(weight_read_after_a_change(5, "R0")), IsEmpty());  // Adds to the weight.
}

// Replica 1 enqueues one operation, replica 0 two.
TEST(Remarks, NameAnOperationThatAReplicaLeavesOut) {
  const std::string work =
      R"({"step":0,"kind":"start","agent":"R0","run":1}
{"step":1,"kind":"start","agent":"R1","run":1}
{"step":2,"kind":"enqueue","agent":"R0","run":1,"name":"fill","line":"w.cpp:4"}
{"step":3,"kind":"enqueue","agent":"R1","run":1,"name":"fill","line":"w.cpp:4"}
{"step":4,"kind":"enqueue","agent":"R0","run":1,"name":"scale","line":"w.cpp:5"}
)";
  EXPECT_THAT(remarks_of(work),
              ElementsAre("replica 1 does not enqueue scale at w.cpp:5, and the others do"));
  const std::string other = work.substr(0, work.rfind("{"));
  EXPECT_THAT(remarks_of(other), IsEmpty());
}

// Replica 0 scales before the merge of its group; replica 1 does not, and merges `later`.
TEST(Remarks, CompareTheOperationsBeforeTheSameMerge) {
  const auto work = [](const std::string& later) {
    return R"({"step":0,"kind":"start","agent":"R0","run":1}
{"step":1,"kind":"start","agent":"R1","run":1}
{"step":2,"kind":"enqueue","agent":"R0","run":1,"name":"fill","line":"w.cpp:4"}
{"step":3,"kind":"enqueue","agent":"R1","run":1,"name":"fill","line":"w.cpp:4"}
{"step":4,"kind":"enqueue","agent":"R0","run":1,"name":"scale","line":"w.cpp:5"}
{"step":5,"kind":"arrive","agent":"R0","run":1,"round":1,"group":[0,1]}
{"step":6,"kind":"arrive","agent":"R1","run":1,"round":1)" +
           later + "}\n";
  };
  EXPECT_THAT(remarks_of(work(R"(,"group":[0,1])")),
              ElementsAre("replica 1 does not enqueue scale at w.cpp:5, and the others do"));
  EXPECT_THAT(remarks_of(work(R"(,"group":[1,2])")), IsEmpty());
  EXPECT_THAT(remarks_of(work("")), IsEmpty());
}

}  // namespace
}  // namespace belfry::tool::remarks_test
