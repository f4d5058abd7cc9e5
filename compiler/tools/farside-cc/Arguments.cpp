#include "Arguments.h"

#include "Responses.h"
#include <string_view>

namespace {

constexpr std::string_view passesOption = "-ffarside-passes=";
constexpr std::string_view sectionsOption = "-fsections=";

/// Takes an argument that is for farside-cc; false if it is for clang.
bool take(Arguments &arguments, const std::string &argument) {
  if (argument == "-Rfarside")
    arguments.remarks = true;
  else if (argument == "-Rno-farside")
    arguments.remarks = false;
  else if (argument == "-fno-farside")
    arguments.plain = true;
  else if (argument == "-ffarside")
    arguments.plain = false;
  else if (argument.starts_with(passesOption))
    arguments.passes = argument.substr(passesOption.size());
  else if (argument.starts_with(sectionsOption))
    arguments.sections = argument.substr(sectionsOption.size());
  else if (argument == "-ffarside-whole-program")
    arguments.whole = true;
  else if (argument == "-fno-farside-whole-program")
    arguments.whole = false;
  else
    return false;
  return true;
}

bool isOurs(const std::string &argument) {
  Arguments unused;
  return take(unused, argument);
}

/// A response file is passed on as it is, however long, unless it holds an argument that clang does not know.
std::vector<std::string> expanded(const std::string &argument) {
  if (!argument.starts_with('@'))
    return {argument};
  std::vector<std::string> inside = readResponseFile(argument.substr(1));
  for (const std::string &each : inside)
    if (isOurs(each))
      return inside;
  return {argument};
}

} // namespace

Arguments sortArguments(const std::vector<std::string> &given) {
  Arguments arguments;
  for (const std::string &argument : given)
    for (const std::string &each : expanded(argument))
      if (!take(arguments, each))
        arguments.clang.push_back(each);
  return arguments;
}

std::vector<std::string> clangCommand(const Arguments &arguments, const std::string &clang, const std::string &plugin,
                                      const std::string &support, bool cplusplus) {
  std::vector<std::string> command{clang};
  if (cplusplus)
    command.push_back("--driver-mode=g++");
  if (!arguments.plain) {
    // It is no fault of the user's if clang only links, say, and has no use for these.
    command.insert(command.end(), {"--start-no-unused-arguments", "-fpass-plugin=" + plugin});
    // clang knows the plugin's options only if it has loaded it before it reads them.
    if (arguments.remarks || !arguments.passes.empty() || !arguments.sections.empty())
      command.insert(command.end(), {"-Xclang", "-load", "-Xclang", plugin});
    if (arguments.remarks)
      command.insert(command.end(), {"-mllvm", "-farside-remarks"});
    if (!arguments.passes.empty())
      command.insert(command.end(), {"-mllvm", "-farside-passes=" + arguments.passes});
    // Allocations are known by their place in the source. Options that come later may ask for more.
    if (!arguments.sections.empty())
      command.insert(command.end(), {"-gline-tables-only", "-mllvm", "-farside-sections=" + arguments.sections, "-mllvm",
                                     "-farside-support=" + support});
    if (!arguments.sections.empty() && arguments.whole)
      command.insert(command.end(), {"-mllvm", "-farside-whole-program"});
    command.push_back("--end-no-unused-arguments");
  }
  command.insert(command.end(), arguments.clang.begin(), arguments.clang.end());
  return command;
}
