// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "nvtx.h"

#include "nvtx_range.h"
#include "nvtx_sink.h"

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define BELFRY_HAVE_NVTX 1
#else
#define BELFRY_HAVE_NVTX 0
#endif

namespace belfry::cuda {
namespace nvtx {

#if BELFRY_HAVE_NVTX
namespace {

nvtxDomainHandle_t domain() {
  static nvtxDomainHandle_t const made = nvtxDomainCreateA("belfry");
  return made;
}

nvtxEventAttributes_t attributes_of(const std::string& text) {
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = text.c_str();
  return attributes;
}

}  // namespace

bool is_compiled() { return true; }

std::uint64_t begin(const std::string& text) {
  const nvtxEventAttributes_t attributes = attributes_of(text);
  return nvtxDomainRangeStartEx(domain(), &attributes);
}

void end(std::uint64_t range) { nvtxDomainRangeEnd(domain(), range); }

void push(const std::string& text) {
  const nvtxEventAttributes_t attributes = attributes_of(text);
  nvtxDomainRangePushEx(domain(), &attributes);
}

void pop() { nvtxDomainRangePop(domain()); }

void mark(const std::string& text) {
  const nvtxEventAttributes_t attributes = attributes_of(text);
  nvtxDomainMarkEx(domain(), &attributes);
}
#else
bool is_compiled() { return false; }
std::uint64_t begin(const std::string& /*text*/) { return 0; }
void end(std::uint64_t /*range*/) {}
void push(const std::string& /*text*/) {}
void pop() {}
void mark(const std::string& /*text*/) {}
#endif

}  // namespace nvtx

NvtxRange::NvtxRange(NvtxSink* sink, std::string_view verb, std::uint64_t bytes, std::size_t parts)
    : on_(sink != nullptr) {
  if (!on_) return;
  const std::string merge = sink->merge();
  nvtx::push(std::string(verb) + " of " + std::to_string(bytes) + " bytes in " +
             std::to_string(parts) + " parts" + (merge.empty() ? "" : ", in ") + merge);
}

NvtxRange::~NvtxRange() {
  if (on_) nvtx::pop();
}

}  // namespace belfry::cuda
