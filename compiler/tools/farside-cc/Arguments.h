#ifndef FARSIDE_CC_ARGUMENTS_H
#define FARSIDE_CC_ARGUMENTS_H

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
  /// -ffarside-passes=: passes of farside-opt to run on the program.
  std::string passes;
  /// -fsections=: the section file.
  std::string sections;
  /// -ffarside-whole-program: what is compiled is all of the program.
  bool whole = false;
};

/// Sorts the arguments of a command line.
Arguments sortArguments(const std::vector<std::string> &given);

/// The command line that clang gets. `plugin` is what it is to load, and `support` what that links into
/// programs with sections.
std::vector<std::string> clangCommand(const Arguments &arguments, const std::string &clang, const std::string &plugin,
                                      const std::string &support, bool cplusplus);

#endif
