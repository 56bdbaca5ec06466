// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/detail/options_text.h"
#include "belfry/detail/trace_source.h"
#include "belfry/detail/trace_writer.h"
#include "belfry/trace.h"
#include "trace/failure_json.h"

#include <utility>

namespace belfry {

constinit thread_local detail::TraceSource* detail::trace_source = nullptr;

std::string to_string(const TraceOptions& options) {
  const TraceOptions usual;
  detail::OptionsText text;
  text.add("values", options.values, usual.values);
  text.add("max_steps", options.max_steps, usual.max_steps);
  text.add("max_bytes", options.max_bytes, usual.max_bytes);
  text.add("program", options.program, usual.program);
  return text.text();
}

TraceFile::TraceFile(std::string path, const TraceOptions& options, CallSite site)
    : writer_(std::make_unique<detail::TraceWriter>(std::move(path), options, site)) {}

TraceFile::~TraceFile() = default;

const std::string& TraceFile::path() const { return writer_->path(); }
const TraceOptions& TraceFile::options() const { return writer_->options(); }

void TraceFile::add_failure(const ErrorReport& report) {
  writer_->line("{\"failure\":" + detail::failure_json(report) + "}");
}

void TraceFile::add_verdict(std::string_view json) {
  writer_->line("{\"verdict\":" + std::string(json) + "}");
}

void TraceFile::close(CallSite site) { writer_->close(site); }

}  // namespace belfry
