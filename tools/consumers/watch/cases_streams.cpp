// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "replicas.h"

#include <iomanip>
#include <istream>
#include <iterator>
#include <ostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace {

Row prints_of_two_replicas() {
  std::ostringstream out;
  const Body body = [&](std::size_t id, int) { out << id; };
  return {lines(watched(1, body)), at_line(__FILE__, __LINE__ - 1)};
}

Row prints_to_one_buffer() {
  std::stringbuf buffer;
  std::ostream first(&buffer);
  std::ostream second(&buffer);
  const Body body = [&](std::size_t id, int) {
    std::ostream& own = id == 0 ? first : second;
    own << id;
  };
  return {lines(watched(1, body)), at_line(__FILE__, __LINE__ - 2)};
}

Row lines_of_two_replicas() {
  std::ostringstream out;
  const Body body = [&](std::size_t, int) { out << std::endl; };
  return {lines(watched(1, body)), at_line(__FILE__, __LINE__ - 1)};
}

// Of each kind of value, and by each function.
Row prints_of_one_replica() {
  std::ostringstream out;
  const std::string word("word");
  const Body body = [&](std::size_t id, int) {
    if (id != 0) return;
    out << true << 'c' << " text " << word << ' ' << short{1} << 2 << 3U << 4L << 5UL << 6LL
        << 7ULL;
    out << 0.5F << 0.25 << 0.125L << std::endl << std::flush;
    out.put('p').write("written", 4).flush();
  };
  Row row{text(watched(1, body)), ""};
  row.seen += out.str();
  row.expected += "1c text word 12345670.50.250.125\npwrit";
  return row;
}

// Streams of each replica, with manipulators.
Row texts_of_replicas() {
  std::vector<std::string> texts(2);
  const Body body = [&](std::size_t id, int) {
    std::ostringstream out;
    out << std::setprecision(2) << 0.125 << ' ' << std::setw(3) << std::setfill('0') << 7;
    out << std::hex << 255;
    texts[id] = out.str();
    std::stringstream both;
    both << id;
    texts[id] += std::move(out).str();
  };
  Row row{text(watched(1, body)), ""};
  row.seen += texts[1];
  row.expected += "0.12 007ff0.12 007ff";
  return row;
}

Row text_beside_a_print() {
  std::ostringstream out;
  std::string got;
  const Body body = [&](std::size_t id, int) {
    if (id == 0) got = out.str();
    if (id == 1) out << 5;
  };
  return {text(watched(1, body)),
          did_read(__FILE__, __LINE__ - 4) + ", " + wrote(__FILE__, __LINE__ - 3)};
}

Row prints_of_two_phases() {
  std::ostringstream out;
  const Body body = [&](std::size_t id, int phase) {
    if (static_cast<int>(id) == phase) out << id;
  };
  return {text(watched(2, body)), ""};
}

Row printed_string_beside_write() {
  std::vector<std::ostringstream> out(2);
  std::string word("word");
  const Body body = [&](std::size_t id, int) {
    if (id == 0) out[id] << word;
    if (id == 1) word[3] = 'm';
  };
  return {text(watched(1, body)),
          did_read(__FILE__, __LINE__ - 4) + ", " + wrote(__FILE__, __LINE__ - 3)};
}

// The stream is shared, or the target of the input.
using Input = void (*)(std::istream&, std::string&);
constexpr Input kInputs[] = {
    [](std::istream& in, std::string& text) { in >> text; },
    [](std::istream& in, std::string& text) { std::getline(in, text); },
    [](std::istream& in, std::string& text) { std::getline(in, text, ' '); },
    [](std::istream& in, std::string& text) { in.read(text.data(), 2); },
    [](std::istream& in, std::string& text) { in.get(text[0]); },
    [](std::istream& in, std::string& text) { in >> text[0]; }};

Row inputs_of_texts() {
  std::string wrong;
  for (std::size_t k = 0; k < std::size(kInputs); ++k) {
    std::istringstream shared("some words of a text that is long enough");
    std::vector<std::istringstream> own(2);
    for (auto& in : own) in.str("own words");
    std::vector<std::string> texts(2, std::string(9, 'x'));
    std::string text_of_both(9, 'x');
    const Body reads_both = [&](std::size_t id, int) { kInputs[k](shared, texts[id]); };
    const Body target = [&](std::size_t id, int) { kInputs[k](own[id], text_of_both); };
    const Body apart = [&](std::size_t id, int) { kInputs[k](own[id], texts[id]); };
    if (watched(1, reads_both).conflicts.empty()) wrong += std::to_string(k) + " stream ";
    if (watched(1, target).conflicts.empty()) wrong += std::to_string(k) + " target ";
    wrong += text(watched(1, apart));
  }
  return {wrong, ""};
}

Row inputs_of_numbers() {
  std::istringstream shared("1 2 3");
  std::vector<int> got(2);
  const Body both = [&](std::size_t id, int) { shared >> got[id]; };
  Row row{lines(watched(1, both)), at_line(__FILE__, __LINE__ - 1)};
  std::vector<std::string> texts(2);
  const Body apart = [&](std::size_t id, int) {
    std::istringstream in("1 2 3 4 5 6 7.5 8.5 9.5 c");
    short a = 0;
    unsigned short b = 0;
    int c = 0;
    unsigned d = 0;
    long e = 0;
    unsigned long f = 0;
    float g = 0;
    double h = 0;
    long double i = 0;
    char j = 0;
    in >> a >> b >> c >> d >> e >> f >> g >> h >> i >> std::ws >> j;
    std::ostringstream out;
    out << a + b + c << ' ' << d + e + f << ' ' << g + h + static_cast<double>(i) << j << in.peek();
    texts[id] = out.str();
  };
  row.seen += text(watched(1, apart)) + texts[0] + texts[1];
  row.expected += "6 15 25.5c-16 15 25.5c-1";
  return row;
}

// A number is read by each replica from a separate stream, into a common variable.
Row inputs_into_one_number() {
  std::vector<std::istringstream> own(2);
  for (auto& in : own) in.str("1.5");
  double number = 0;
  const Body body = [&](std::size_t id, int) { own[id] >> number; };
  return {lines(watched(1, body)), at_line(__FILE__, __LINE__ - 1)};
}

}  // namespace

std::vector<Case> stream_cases() {
  return {{"prints of two replicas", prints_of_two_replicas},
          {"prints to a buffer of two streams", prints_to_one_buffer},
          {"ends of lines of two replicas", lines_of_two_replicas},
          {"prints of one replica", prints_of_one_replica},
          {"prints of two phases", prints_of_two_phases},
          {"texts of replicas", texts_of_replicas},
          {"inputs of texts", inputs_of_texts},
          {"inputs of numbers", inputs_of_numbers},
          {"inputs into one number", inputs_into_one_number},
          {"a text beside a print", text_beside_a_print},
          {"a printed string", printed_string_beside_write}};
}
