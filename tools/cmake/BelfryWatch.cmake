# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0

# belfry_watch(<target> [VOUCH <function> ...])
#
# Compiles the sources of an executable or a static library for a watch of host memory: accesses of
# replicas to captured variables, handles and containers are seen. Links the target with
# belfry::watch. Any build type; GCC 12 and clang 14 or later; x86-64 and AArch64; generators that
# run make or ninja. Called in the folder that makes the target.
#
# Calls of functions outside watched targets are noted when a replica makes them: their accesses are
# unseen. VOUCH names functions with no access to memory which replicas share: as the verdict or the
# linker spells them, or without the parameters, for every function of the name.

function(belfry_watch target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "VOUCH")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "belfry_watch(${target}): unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  belfry_watch_check_target(${target})
  set(tools "${CMAKE_CURRENT_FUNCTION_LIST_DIR}")

  # A sanitizer's code calls functions of belfry::watch; code compiled when a program is linked
  # cannot be watched. Functions are called directly: the script finds calls by their form.
  # Without checks of buffers, since those make other functions of memcpy and its like.
  set(options -fsanitize=thread -fno-lto -fplt -fno-omit-frame-pointer -U_FORTIFY_SOURCE)
  # Calls by pointers go to functions of belfry::watch.
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$")
    list(APPEND options $<IF:$<CXX_COMPILER_ID:GNU>,-mindirect-branch=thunk-extern,-mretpoline>
         $<IF:$<CXX_COMPILER_ID:GNU>,-mindirect-branch-register,-mretpoline-external-thunk>
         -fno-jump-tables -mno-red-zone)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC would replace calls with few bytes by unseen instructions.
    set(functions memcpy memmove memset memcmp memchr mempcpy bcmp bcopy bzero strlen strnlen strcmp
        strncmp strcasecmp strncasecmp strcpy strncpy stpcpy stpncpy strcat strncat strchr strrchr
        strstr strpbrk strspn strcspn strdup strndup index rindex sprintf snprintf vsprintf
        vsnprintf)
    list(TRANSFORM functions PREPEND "-fno-builtin-")
    list(APPEND options -Wno-tsan ${functions}
         "SHELL:-include \"${tools}/belfry_watch_builtins.h\"")
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    # clang makes vectors of loops before the instrumentation, which leaves long vectors out.
    list(APPEND options -fno-vectorize -fno-slp-vectorize
         # Reports the accesses that -fsanitize=thread leaves out for their unusual size.
         "SHELL:-Xclang -fmemory-profile" "SHELL:-mllvm -memprof-use-callbacks"
         "SHELL:-mllvm -memprof-guard-against-version-mismatch=0"
         "SHELL:-include \"${tools}/belfry_watch_vectors.h\"")
  endif()
  # Line tables, unless the build type has more.
  set(without_tables "$<NOT:$<CONFIG:Debug,RelWithDebInfo>>")
  list(APPEND options "$<${without_tables}:-g1>")
  foreach(option IN LISTS options)
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:C,CXX>:${option}>")
  endforeach()
  set_target_properties(${target} PROPERTIES INTERPROCEDURAL_OPTIMIZATION OFF)

  # Not target_link_libraries: its two forms do not mix, and the target's owner chooses the form.
  get_target_property(type ${target} TYPE)
  set(stubs "${CMAKE_CURRENT_BINARY_DIR}/${target}.belfry_watch$<CONFIG>.o")
  set_property(TARGET ${target} APPEND PROPERTY LINK_LIBRARIES belfry::watch)
  if(type STREQUAL "STATIC_LIBRARY")
    set_property(TARGET ${target} APPEND PROPERTY INTERFACE_LINK_LIBRARIES
                 "$<LINK_ONLY:belfry::watch>")
    set_property(TARGET ${target} APPEND PROPERTY STATIC_LIBRARY_OPTIONS "${stubs}")
    # A linker takes nothing from a library that is not asked for: the list of the functions that
    # the library defines goes to the users of the target.
    set_property(TARGET ${target} APPEND PROPERTY INTERFACE_LINK_OPTIONS
                 "$<BUILD_INTERFACE:${stubs}>")
  else()
    set_property(TARGET ${target} APPEND PROPERTY LINK_OPTIONS "${stubs}")
  endif()

  # No name has a backquote.
  list(JOIN arg_VOUCH "`" vouched)
  find_program(BELFRY_CXXFILT c++filt REQUIRED)
  mark_as_advanced(BELFRY_CXXFILT)
  add_custom_command(TARGET ${target} PRE_LINK
    COMMAND sh "${tools}/belfry_watch_objects.sh" "${CMAKE_NM}" "${CMAKE_OBJCOPY}"
            "${CMAKE_OBJDUMP}" "${CMAKE_READELF}" "${BELFRY_CXXFILT}" "${CMAKE_CXX_COMPILER}"
            "${tools}/belfry_watch_calls.txt" "${stubs}" "VOUCHED=${vouched}"
            "$<TARGET_OBJECTS:${target}>"
    COMMAND_EXPAND_LISTS VERBATIM)
  # Options may be added later.
  cmake_language(EVAL CODE "cmake_language(DEFER CALL belfry_watch_check_options ${target})")
endfunction()

# Ends with an error unless the target can be watched.
function(belfry_watch_check_target target)
  if(NOT TARGET ${target})
    message(FATAL_ERROR "belfry_watch(${target}): there is no target '${target}'; call "
                        "belfry_watch after add_executable or add_library")
  endif()
  if(NOT TARGET belfry::watch)
    message(FATAL_ERROR
            "belfry_watch(${target}): belfry has no component 'watch' here; ask for it in "
            "find_package(belfry COMPONENTS watch), and build belfry with libdw "
            "(Debian: libdw-dev) and without BELFRY_SANITIZE")
  endif()
  get_target_property(type ${target} TYPE)
  if(NOT type MATCHES "^(EXECUTABLE|STATIC_LIBRARY)$")
    message(FATAL_ERROR "belfry_watch(${target}): the target is a ${type}; executables and static "
                        "libraries can be watched")
  endif()
  if(NOT CMAKE_SYSTEM_NAME STREQUAL "Linux" OR
     NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64|aarch64|arm64)$")
    message(FATAL_ERROR "belfry_watch(${target}): not on ${CMAKE_SYSTEM_NAME} "
                        "${CMAKE_SYSTEM_PROCESSOR}; on Linux with x86-64 or AArch64")
  endif()
  set(found "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}")
  set(least_GNU 12)
  set(least_Clang 14)
  set(least "${least_${CMAKE_CXX_COMPILER_ID}}")
  if(NOT least OR CMAKE_CXX_COMPILER_VERSION VERSION_LESS least)
    message(FATAL_ERROR "belfry_watch(${target}): the compiler is ${found}; GCC 12 or clang 14 or "
                        "later is needed")
  endif()
endfunction()

# Ends with an error if a sanitizer has the same job, or if objects have no code. Called when the
# folder of the target is done.
function(belfry_watch_check_options target)
  set(all "${CMAKE_CXX_FLAGS} ${CMAKE_EXE_LINKER_FLAGS}")
  if(CMAKE_BUILD_TYPE)
    string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
    string(APPEND all " ${CMAKE_CXX_FLAGS_${type}} ${CMAKE_EXE_LINKER_FLAGS_${type}}")
  endif()
  get_target_property(linked ${target} LINK_LIBRARIES)
  foreach(part IN ITEMS ${target} ${linked} belfry::core)
    if(NOT TARGET ${part})
      continue()
    endif()
    set(kinds INTERFACE_COMPILE_OPTIONS INTERFACE_LINK_OPTIONS)
    if(part STREQUAL target)
      set(kinds COMPILE_OPTIONS LINK_OPTIONS COMPILE_FLAGS LINK_FLAGS)
    endif()
    foreach(kind IN LISTS kinds)
      get_target_property(options ${part} ${kind})
      # The option of the watch itself.
      string(REPLACE "$<$<COMPILE_LANGUAGE:C,CXX>:-fsanitize=thread>" "" options "${options}")
      string(APPEND all " ${options}")
    endforeach()
  endforeach()
  if(all MATCHES "-fsanitize=[a-z,-]*(thread|address|memory)")
    message(FATAL_ERROR
            "belfry_watch(${target}): the target is built with -fsanitize=${CMAKE_MATCH_1}. A "
            "watch uses the accesses that -fsanitize=thread reports itself; build the watched "
            "target without the sanitizer, in a build tree of its own")
  endif()
  if(all MATCHES "-fno-lto.*-flto")
    message(FATAL_ERROR
            "belfry_watch(${target}): the target gets -flto after the call. Code compiled when a "
            "program is linked cannot be watched; give -flto before, or leave the option out")
  endif()
endfunction()
