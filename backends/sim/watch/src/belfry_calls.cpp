// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/buffer.h"
#include "belfry/device_spec.h"
#include "belfry/error.h"
#include "belfry/shape.h"
#include "watched_call.h"

#include <cstdint>
#include <string>
#include <string_view>

// Functions of belfry that read an object of the user's, and do not report the access themselves:
// they are below the interface for reports. The names are the linker's.
namespace belfry {
class AnyTensor;
std::string to_string(const AnyTensor& tensor);
}  // namespace belfry

namespace belfry::sim::watch {

std::string watched_shape_text(const Shape& shape)
    BELFRY_STANDS_FOR("_ZN6belfry9to_stringB5cxx11ERKNS_5ShapeE");
std::string watched_shape_text(const Shape& shape) {
  reads(&shape, sizeof shape, BELFRY_HERE);
  return to_string(shape);
}

std::int64_t watched_extent(const Shape* shape, int axis, CallSite site)
    BELFRY_STANDS_FOR("_ZNK6belfry5Shape6extentEiNS_8CallSiteE");
std::int64_t watched_extent(const Shape* shape, int axis, CallSite site) {
  reads(shape, sizeof *shape, BELFRY_HERE);
  return shape->extent(axis, site);
}

std::string watched_tensor_text(const AnyTensor& tensor)
    BELFRY_STANDS_FOR("_ZN6belfry9to_stringB5cxx11ERKNS_9AnyTensorE");
// A handle begins with the owner of its storage.
std::string watched_tensor_text(const AnyTensor& tensor) {
  reads(&tensor, sizeof(BufferPtr), BELFRY_HERE);
  return to_string(tensor);
}

DeviceSpec watched_parse(std::string_view text, CallSite site) BELFRY_STANDS_FOR(
    "_ZN6belfry10DeviceSpec5parseESt17basic_string_viewIcSt11char_traitsIcEENS_8CallSiteE");
DeviceSpec watched_parse(std::string_view text, CallSite site) {
  reads(text.data(), text.size(), BELFRY_HERE);
  return DeviceSpec::parse(text, site);
}

const char* watched_error_text(const Error* error) BELFRY_STANDS_FOR("_ZNK6belfry5Error4whatEv");
const char* watched_error_text(const Error* error) {
  reads(error, sizeof *error, BELFRY_HERE);
  return error->Error::what();
}

}  // namespace belfry::sim::watch
