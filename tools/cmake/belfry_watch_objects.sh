#!/bin/sh
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0

# Prepares the objects of a watched target for the linker. Called by belfry_watch() of CMake before
# each link, also with objects that an earlier call has prepared:
#   belfry_watch_objects.sh NM OBJCOPY OBJDUMP READELF CXXFILT COMPILER TABLE STUBS VOUCHED=NAMES
#                           OBJECT...
# TABLE is belfry_watch_calls.txt, STUBS the object to write, NAMES a list of functions with
# backquotes between them, as the source or the linker names them, with or without parameters.
#
# - Inline functions, instances of templates and tables of virtual functions get new names: a linker
#   would else use watched code for equal functions of libraries, or the other way round.
# - A call of a function with a stand-in in belfry::watch goes to the stand-in.
# - Watched code is in sections of one name: belfry::watch tells a call by a pointer that leaves
#   watched code by the address.
# - A call of any other function outside the target passes a stub, which notes the call if a replica
#   makes the call, and goes on to the function. Calls of functions with a new answer in each run
#   are noted in all code.
# - The functions with long vectors of clang have a list.
set -eu
nm=$1 objcopy=$2 objdump=$3 readelf=$4 cxxfilt=$5 compiler=$6 table=$7 stubs=$8
vouched=${9#VOUCHED=}
shift 9
# Precompiled headers are among the objects of a target, and have no code.
for object in "$@"; do
  shift
  case $object in *.gch | *.pch) ;; *) set -- "$@" "$object" ;; esac
done

machine=$("$readelf" -h "$1" | sed -n 's/ *Machine: *//p')
folder=$stubs.parts
rm -rf "$folder"
mkdir -p "$folder"
: >"$folder/library"
number=0
for object in "$@"; do
  # Objects of other languages, and of files with options of their own, are strangers.
  "$nm" -pP "$object" >"$folder/names"
  number=$((number + 1))
  if ! grep -q '^__tsan_init U' "$folder/names"; then
    sed -nE 's/^__memprof_([a-z]+) U.*/--redefine-sym=__memprof_\1=belfry_watch.plain_\1/p' \
        "$folder/names" >"$folder/$number.options"
    continue
  fi
  sed 's/^/N /' "$folder/names"
  # Calls alone: x86-64 and AArch64 mark calls by the type of the relocation. Not by readelf, which
  # reads all symbols again for each section, and takes minutes for thousands of templates.
  "$objdump" -rw "$object" |
    awk '/R_X86_64_PLT32|R_AARCH64_(CALL|JUMP)26/ { sub(/[-+]0x.*/, "", $3); print "P", $3 }'
  if grep -q '^belfry_watch_wide ' "$folder/names"; then
    # All names of the functions with accesses to such vectors, other than those of the stack and of
    # constants.
    { "$readelf" -sW "$object"; "$objdump" -dr --no-show-raw-insn "$object"; } |
      awk '
        $4 == "FUNC" { place = $7 ":" $2; at[$8] = at[$8] " " place; of[place] = of[place] " " $8 }
        function found(    n, k, places, m, i, names) {
          if (has[name]++) return
          n = split(at[name], places, " ")
          for (k = 1; k <= n; ++k) {
            m = split(of[places[k]], names, " ")
            for (i = 1; i <= m; ++i) print "W", names[i]
          }
        }
        /^[0-9a-f]+ <.*>:$/ { name = substr($2, 2, length($2) - 3) }
        by_name && /R_X86_64_/ && !/\.rodata|\.LCPI/ { found() }
        { by_name = /%[yz]mm/ && /\(%rip/ }
        /%[yz]mm/ && /\(/ && !/\(%r(sp|bp|ip)/ { found() }'
  fi
  "$readelf" -gW "$object" | sed -n 's/.*group section.*\[\(_Z[^]]*\)\].*/G \1/p'
  "$objdump" -hw "$object" |
    awk '/, CODE| TEXT *$/ && $2 != "belfry_watched_text" && !has[$2]++ {
      print "--rename-section=\"" $2 "=belfry_watched_text\"" }' >"$folder/$number.options"
  echo "O $number"
done >"$folder/symbols"
# The functions of the C library, whose names do not tell functions from variables.
for library in libc.so.6 libm.so.6; do
  "$nm" -D "$("$compiler" -print-file-name=$library)" 2>/dev/null |
    sed -nE 's/^[0-9a-f]* [TWi] ([^@]*).*/P \1/p' >>"$folder/library" || true
done
# The names alone, as the linker and as the source have them.
sed -nE 's/^N (belfry_(watch|watched|unseen)\.)?([^ ]*) .*/\3/p' "$folder/symbols" |
  sort -u >"$folder/names"
"$cxxfilt" <"$folder/names" | paste -d '\t' "$folder/names" - >"$folder/readable"

awk -v table="$table" -v vouched="$vouched" -v folder="$folder" \
    -v machine="$machine" '
function bare(name) {
  sub(/^belfry_(watch|watched|unseen)\./, "", name)
  return name
}
function varies(name,    k) {
  for (k = 1; k <= varying; ++k) if (name ~ vary[k]) return 1
  return 0
}
# A name with std::string as a source has it.
function plain(text) {
  gsub(/std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> *>/,
       "std::string", text)
  gsub(/\[abi:cxx11\]/, "", text)
  return text
}
# The name of a function without its parameters, which come last.
function without_parameters(text,    at, depth, c) {
  at = length(text)
  while (at > 0 && substr(text, at, 1) != ")") --at
  for (; at > 0; --at) {
    c = substr(text, at, 1)
    if (c == ")") ++depth
    if (c == "(" && --depth == 0) return substr(text, 1, at - 1)
  }
  return text
}
# Writes a text, in quotation marks, as an entry of `section`.
function enter(section, text) {
  gsub(/["\\]/, "\\\\&", text)
  ++number
  printf ".section %s,\"aw\",%%progbits\n.p2align 3\n", section > output
  printf ".quad .Lname%d\n.section .rodata.belfry_watch\n", number > output
  printf ".Lname%d: .asciz \"%s\"\n", number, text > output
}
function is_vouched(name,    text) {
  text = plain(readable[name])
  return name in vouches || text in vouches || without_parameters(text) in vouches
}
function is_inline(name) { return name ~ /^_Z/ && (name !~ /^_ZT/ || name ~ /^_ZT[hvc]/) }
# Whether a weak symbol gets a name of its own: an inline function, or a table of virtual functions.
function is_own(type, name) {
  return (type == "W" && is_inline(name)) || (type == "V" && name ~ /^_ZT[VTC]/)
}
# Whether a readable name is a name of a function: parameters come last, outside the arguments of
# templates.
function is_function(text) {
  gsub(/operator(\(\)|<=>|<<=?|>>=?|<=?|>=?|->\*?)/, "operator", text)
  while (gsub(/<[^<>]*>/, "", text)) continue
  return text ~ /\)( const| volatile|&)*( \[[^]]*\])?$/
}
# The name that the linker shall see for a function that no object of the target defines.
function wanted(name,    k) {
  if (name in wrapped) return "belfry_watch." name
  if (is_vouched(name)) return name
  if (varies(name)) return "belfry_unseen." name
  if (name ~ /^_ZT[VISTC]/ || name ~ /^_ZG/) return name
  for (k = 1; k <= patterns; ++k) if (name ~ pattern[k]) return name
  if (name in called || (name ~ /^_Z/ && is_function(readable[name]))) return "belfry_unseen." name
  if (name !~ /^_Z/ && machine ~ /AArch64/) pointed[name] = 1
  return name
}
BEGIN {
  while ((getline line < table) > 0) {
    split(line, word, " ")
    if (word[1] == "wrap") wrapped[word[2]] = 1
    if (word[1] == "vary") vary[++varying] = "^" word[2] "$"
    if (word[1] == "keep" || word[1] == "data") pattern[++patterns] = "^" word[2] "$"
    if (word[1] == "keep" || word[1] == "made") known["^" word[2] "$"] = 1
  }
  while ((getline line < (folder "/readable")) > 0) {
    cut = index(line, "\t")
    readable[substr(line, 1, cut - 1)] = substr(line, cut + 1)
  }
  count = split(vouched, names, "`")
  for (k = 1; k <= count; ++k) { vouches[plain(names[k])] = 1; known["=" plain(names[k])] = 1 }
}
FILENAME ~ /symbols$/ { lines[++count_of_lines] = $0 }
$1 == "N" && $3 ~ /^[TDBRVWu]$/ { defined[bare($2)] = 1 }
$1 == "N" && $3 == "T" { strong[bare($2)] = 1 }
$1 == "N" && is_own($3, bare($2)) { inlined[bare($2)] = 1 }
$1 == "P" { called[bare($2)] = 1 }
$1 == "W" { vectors[bare($2)] = 1 }
END {
  for (i = 1; i <= count_of_lines; ++i) {
    split(lines[i], word, " ")
    kind = word[1]; name = word[2]; base = bare(name)
    if (kind == "N" && word[3] == "U" && base in inlined) {
      if (name == base) renamed[name] = "belfry_watched." name
    } else if (kind == "N" && word[3] == "U" && !(base in defined)) {
      now = wanted(base)
      if (now ~ /^belfry_unseen\./) unseen[base] = 1
      if (now != name) renamed[name] = now
    } else if (kind == "N" && is_own(word[3], base)) {
      if (name == base) renamed[name] = "belfry_watched." name
    } else if (kind == "G") {
      group[name] = 1
    } else if (kind == "N" && word[3] ~ /^[A-Zu]$/) {
      other[name] = 1
    } else if (kind == "O") {
      name_of_file = word[2]
      # A group of constructors has a name of its own, which is no name of a function or variable.
      for (name in group) {
        if (!(name in other) && !(name in renamed) && name !~ /^_ZT/)
          renamed[name] = "belfry_watched." name
      }
      file = folder "/" name_of_file ".renamed"
      printf "" > file
      for (name in renamed) print name, renamed[name] > file
      close(file)
      split("", renamed); split("", group); split("", other)
    }
  }
  output = folder "/stubs.s"
  printf ".section .note.GNU-stack,\"\",%%progbits\n" > output
  number = 0
  for (name in unseen) {
    ++number
    symbol = "\"belfry_unseen." name "\""
    state = varies(name) ? "belfry_watch_active" : "belfry_watch_inside"
    printf ".section belfry_watched_text,\"ax\",%%progbits\n.p2align 4\n.weak %s\n", symbol > output
    printf ".type %s,%%function\n%s:\n.cfi_startproc\n", symbol, symbol > output
    if (machine ~ /AArch64/) {
      printf "adrp x16, %s\nldrb w17, [x16, #:lo12:%s]\n", state, state > output
      printf "cbz w17, 1f\nadrp x16, .Lcalled%d\nmov w17, #1\n", number > output
      printf "strb w17, [x16, #:lo12:.Lcalled%d]\n1: b %s\n", number, name > output
    } else {
      printf "endbr64\ncmpb $0, %s(%%rip)\nje 1f\n", state > output
      printf "movb $1, .Lcalled%d(%%rip)\n1: jmp %s@PLT\n", number, name > output
    }
    printf ".cfi_endproc\n.size %s, .-%s\n", symbol, symbol > output
    printf ".section belfry_watch_unseen,\"aw\",%%progbits\n.p2align 3\n" > output
    printf ".quad .Lname%d\n.Lcalled%d: .quad 0\n", number, number > output
    printf ".section .rodata.belfry_watch\n.Lname%d: .asciz \"%s%s\"\n",
           number, varies(name) ? "~" : "", name > output
  }
  for (name in pointed) enter("belfry_watch_pointers", name)
  for (name in vectors) enter("belfry_watch_vectors", name)
  for (name in strong) enter("belfry_watch_defined", name)
  for (text in known) enter("belfry_watch_known", text)
}' "$folder/library" "$folder/symbols"

"$compiler" -c "$folder/stubs.s" -o "$stubs"
number=0
for object in "$@"; do
  number=$((number + 1))
  if [ -s "$folder/$number.renamed" ]; then
    printf '%s\n' "--redefine-syms=$folder/$number.renamed" >>"$folder/$number.options"
  fi
  if [ -s "$folder/$number.options" ]; then
    "$objcopy" --preserve-dates @"$folder/$number.options" "$object"
  fi
done
rm -r "$folder"
