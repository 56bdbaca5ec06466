// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trace/trace_reader.h"

#include <sstream>
#include <string>

namespace belfry::tool {

/// The lines of a trace on two replicas before the first step; `more` are members of the first
/// line.
inline std::string begin_of_trace(const std::string& more = "") {
  return R"({"belfry_trace":1,"backend":"sim","replicas":2)" + more + "}\n" +
         R"({"agent":"H0","kind":"host","index":0,"name":"host"}
{"agent":"R0","kind":"replica","index":0,"name":"replica 0"}
{"agent":"R1","kind":"replica","index":1,"name":"replica 1"}
{"agent":"M0","kind":"merge","index":0,"name":"merges"}
{"agent":"S0","kind":"stream","index":0,"replica":0,"role":"compute","name":"compute of replica 0"}
{"agent":"S1","kind":"stream","index":1,"replica":1,"role":"compute","name":"compute of replica 1"}
{"variable":0,"name":"weight","kind":"mirrored","type":"float64","shape":[]}
)";
}

/// The last line of a trace.
inline const std::string kEndOfTrace = R"({"end":true,"steps":0,"cut":0,"token":""})"
                                       "\n";

/// Reads the whole text.
inline Trace trace_of(const std::string& text, const std::string& name = "t") {
  std::istringstream in(text);
  return parse_trace(in, name);
}

}  // namespace belfry::tool
