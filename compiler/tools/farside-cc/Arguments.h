#ifndef FARSIDE_CC_ARGUMENTS_H
#define FARSIDE_CC_ARGUMENTS_H

#include <optional>
#include <string>
#include <vector>

/// What the user asked farside-cc for, apart from what it asked clang for.
struct Arguments {
  /// All that is passed on to clang.
  std::vector<std::string> clang;
  /// -Rfarside: tell which functions stay as clang made them.
  bool remarks = false;
  /// -fno-farside: be clang.
  bool plain = false;
  /// -ffarside-passes=: passes of farside-opt to run on the program; none, and it only goes to MLIR and back.
  std::optional<std::string> passes;
  /// -fsections=: the section file.
  std::string sections;
  /// -ffarside-profile: the program counts what it does, and tells what could go to sections.
  bool profiled = false;
  /// -ffarside-whole-program: what is compiled is all of the program.
  bool whole = false;
  /// -fno-farside-link: units are converted one by one, when they are compiled.
  bool byUnit = false;

  /// -emit-rmem: show the program as it is in MLIR, in what -o names or on the terminal.
  bool listing = false;

  /// Libraries that what is compiled needs, if it is linked.
  std::vector<std::string> libraries;

  /// Whether allocations may go to sections, or are looked at as such that may.
  bool isConverting() const { return profiled || !sections.empty(); }
  /// Whether there is anything for the plugin to do.
  bool needsPlugin() const { return !plain && (isConverting() || passes); }
  /// Whether the program is converted when it is linked, all units together.
  bool isLinked() const;
  /// Whether units are compiled and linked at once.
  bool isCompiledAndLinked() const;
  /// Where the program is shown.
  std::string listed() const;
  /// The linker that the user asks for and that cannot do that; empty if there is none.
  std::string otherLinker() const;
};

/// What belongs to farside-cc, by its path.
struct Installed {
  std::string clang, linker, plugin;
  /// The plugin for units that are converted when they are linked.
  std::string units;
  /// What the plugin links into programs with sections; the same for programs that are profiled; and what those count with.
  std::string support, profiledSupport, profile;
  /// The library of what is not inlined of the first.
  std::string supportLibrary;
  /// What containers call of the C++ library.
  std::string containers;
  /// Where headers are that come before those of the C++ library.
  std::string headers;
};

/// Sorts the arguments of a command line.
Arguments sortArguments(const std::vector<std::string> &given);

/// The beginning of the command that translates programs of tensor compilers.
std::vector<std::string> translateCommand(const Arguments &arguments, const std::string &translator);

/// The command line that clang gets.
std::vector<std::string> clangCommand(const Arguments &arguments, const Installed &installed, bool cplusplus);

#endif
