#include "Arguments.h"

#include "Responses.h"
#include "Tensors.h"
#include <algorithm>
#include <initializer_list>
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
  else if (argument == "-emit-rmem")
    arguments.listing = true;
  else if (argument == "-ffarside-profile")
    arguments.profiled = true;
  else if (argument == "-fno-farside-profile")
    arguments.profiled = false;
  else if (argument == "-fno-farside-link")
    arguments.byUnit = true;
  else if (argument == "-ffarside-link")
    arguments.byUnit = false;
  else
    return false;
  return true;
}

bool isOurs(const std::string &argument) {
  Arguments unused;
  return take(unused, argument);
}

/// A response file is passed on as it is, however long, unless it holds what clang does not know.
std::vector<std::string> expanded(const std::string &argument) {
  if (!argument.starts_with('@'))
    return {argument};
  std::vector<std::string> inside = readResponseFile(argument.substr(1));
  for (const std::string &each : inside)
    if (isOurs(each) || isTensorName(each))
      return inside;
  return {argument};
}

bool startsWithAny(const std::string &argument, std::initializer_list<std::string_view> starts) {
  return std::any_of(starts.begin(), starts.end(), [&](std::string_view start) { return argument.starts_with(start); });
}

/// Asks for code to look at, or for what must see all code that is compiled.
bool needsUnits(const std::string &argument) {
  return argument == "-S" || argument == "-r" || argument == "-emit-llvm" || argument == "-flto=thin" ||
         argument == "--coverage" || startsWithAny(argument, {"-fsanitize", "-fprofile", "-fcoverage", "-fcs-profile"});
}

/// Asks for what is not linked, or may: nobody looks into response files.
bool isOnlyCompiled(const std::string &argument) {
  return argument == "-c" || argument == "-E" || argument == "-M" || argument == "-MM" || argument == "-fsyntax-only" ||
         argument.starts_with('@');
}

/// May ask for code for another processor.
bool isForOthers(const std::string &argument) {
  return argument == "-m32" || argument == "-mx32" || startsWithAny(argument, {"--target=", "-target", "--config"});
}

/// Whether an argument is a source in C or C++, by its name.
bool isSource(const std::string &argument) {
  if (argument.starts_with('-'))
    return false;
  for (std::string_view end : {".c", ".cc", ".cp", ".cpp", ".cxx", ".c++", ".C", ".i", ".ii"})
    if (argument.ends_with(end))
      return true;
  return false;
}

/// Whether the user wants line tables, or may: nobody looks into response files.
bool asksForLines(const std::vector<std::string> &arguments) {
  bool asks = false;
  for (const std::string &argument : arguments)
    if (argument.starts_with('@'))
      return true;
    else if (argument.starts_with("-g") && !argument.starts_with("-gcc"))
      asks = argument != "-g0";
  return asks;
}

/// The level of the linker's optimization that goes with clang's.
std::string levelOf(const std::vector<std::string> &arguments) {
  std::string level = "2";
  for (const std::string &argument : arguments) {
    if (argument == "-O" || argument == "-Og")
      level = "1";
    else if (argument == "-Ofast" || argument == "-O4")
      level = "3";
    else if (argument == "-Os" || argument == "-Oz")
      level = "2";
    else if (argument.size() == 3 && argument.starts_with("-O") && argument[2] >= '0' && argument[2] <= '3')
      level = argument[2];
  }
  return level;
}

void add(std::vector<std::string> &command, std::string_view how, std::initializer_list<std::string> options) {
  for (const std::string &option : options)
    command.insert(command.end(), {std::string(how), option});
}

/// Options of the plugin, for what runs it.
std::vector<std::string> pluginOptions(const Arguments &arguments, const Installed &installed) {
  std::vector<std::string> options;
  if (arguments.remarks)
    options.push_back("-farside-remarks");
  if (arguments.passes && !arguments.passes->empty())
    options.push_back("-farside-passes=" + *arguments.passes);
  if (!arguments.isConverting())
    return options;
  if (!arguments.sections.empty())
    options.push_back("-farside-sections=" + arguments.sections);
  if (arguments.profiled)
    options.insert(options.end(), {"-farside-profile=" + installed.profile,
                                   "-farside-support=" + installed.profiledSupport});
  else
    options.push_back("-farside-support=" + installed.support);
  options.push_back("-farside-containers=" + installed.containers);
  if (arguments.whole)
    options.push_back("-farside-whole-program");
  if (arguments.isLinked())
    options.push_back("-farside-linked");
  if (arguments.listing)
    options.push_back("-farside-emit-rmem=" + arguments.listed());
  return options;
}

/// Options of the plugin for units that are converted when they are linked.
std::vector<std::string> unitOptions(const Arguments &arguments) {
  std::vector<std::string> options;
  if (!arguments.sections.empty())
    options.push_back("-farside-sections=" + arguments.sections);
  if (arguments.profiled)
    options.push_back("-farside-profiled");
  if (asksForLines(arguments.clang))
    options.push_back("-farside-lines");
  if (arguments.isCompiledAndLinked())
    options.push_back("-farside-without-code");
  return options;
}

/// All that clang is asked for; or, if the program is only shown, what is needed to come so far.
void addForClang(std::vector<std::string> &command, const Arguments &arguments) {
  if (!arguments.listing) {
    command.insert(command.end(), arguments.clang.begin(), arguments.clang.end());
    return;
  }
  for (size_t i = 0; i < arguments.clang.size(); ++i)
    if (arguments.clang[i] == "-o")
      ++i;
    else if (!startsWithAny(arguments.clang[i], {"-o"}))
      command.push_back(arguments.clang[i]);
  command.insert(command.end(), {"-c", "-Xclang", "-emit-llvm-only"});
}

void addLinker(std::vector<std::string> &command, const Arguments &arguments, const Installed &installed) {
  command.push_back("--ld-path=" + installed.linker);
  // Version scripts name what not every build of a library has; the usual linker does not mind.
  add(command, "-Xlinker",
      {"--undefined-version", "--fat-lto-objects", "--lto-O" + levelOf(arguments.clang), "--mllvm=-load=" + installed.plugin,
       "--load-pass-plugin=" + installed.plugin});
  for (const std::string &option : pluginOptions(arguments, installed))
    add(command, "-Xlinker", {"--mllvm=" + option});
  // It is for the processor that this one runs on. Programs for others bring along all of it.
  if (!arguments.profiled && std::none_of(arguments.clang.begin(), arguments.clang.end(), isForOthers))
    add(command, "-Xlinker", {"--mllvm=-farside-support-linked", installed.supportLibrary});
}

} // namespace

bool Arguments::isLinked() const {
  return !plain && isConverting() && !whole && !byUnit && !listing && otherLinker().empty() &&
         std::none_of(clang.begin(), clang.end(), needsUnits);
}

bool Arguments::isCompiledAndLinked() const {
  bool compiles = false;
  for (const std::string &argument : clang) {
    if (isOnlyCompiled(argument) || startsWithAny(argument, {"-flto", "-fno-lto", "-save-temps", "--save-temps"}))
      return false;
    compiles |= isSource(argument);
  }
  return compiles;
}

std::string Arguments::listed() const {
  std::string path = "-";
  for (size_t i = 0; i < clang.size(); ++i)
    if (clang[i] == "-o" && i + 1 < clang.size())
      path = clang[i + 1];
    else if (clang[i].starts_with("-o") && clang[i].size() > 2)
      path = clang[i].substr(2);
  return path;
}

std::string Arguments::otherLinker() const {
  std::string other;
  for (const std::string &argument : clang)
    if (startsWithAny(argument, {"-fuse-ld=", "--ld-path="}))
      other = argument == "-fuse-ld=lld" ? "" : argument;
  return other;
}

Arguments sortArguments(const std::vector<std::string> &given) {
  Arguments arguments;
  for (const std::string &argument : given)
    for (const std::string &each : expanded(argument))
      if (!take(arguments, each))
        arguments.clang.push_back(each);
  return arguments;
}

std::vector<std::string> translateCommand(const Arguments &arguments, const std::string &translator) {
  constexpr std::string_view processorOption = "-march=";
  std::vector<std::string> command{translator};
  for (const std::string &argument : arguments.clang)
    if (argument.starts_with(processorOption))
      command = {translator, "--cpu=" + argument.substr(processorOption.size())};
  // Allocations are known by their place in the source.
  if (asksForLines(arguments.clang) || (!arguments.plain && arguments.isConverting()))
    command.push_back("--line-tables");
  return command;
}

std::vector<std::string> clangCommand(const Arguments &arguments, const Installed &installed, bool cplusplus) {
  std::vector<std::string> command{installed.clang};
  if (cplusplus)
    command.push_back("--driver-mode=g++");
  if (arguments.needsPlugin()) {
    // It is no fault of the user's if clang only links, say, and has no use for these.
    const std::string &plugin = arguments.isLinked() ? installed.units : installed.plugin;
    command.insert(command.end(), {"--start-no-unused-arguments", "-fpass-plugin=" + plugin});
    std::vector<std::string> options =
        arguments.isLinked() ? unitOptions(arguments) : pluginOptions(arguments, installed);
    // clang knows the plugin's options only if it has loaded it before it reads them. They are for the compiler proper alone:
    // clang's assembler would be given those of -mllvm, too, and loads no plugins.
    if (!options.empty())
      add(command, "-Xclang", {"-load", plugin});
    for (const std::string &option : options)
      add(command, "-Xclang", {"-mllvm", option});
    // Allocations are known by their place in the source. Options that come later may ask for more.
    if (arguments.isConverting())
      command.insert(command.end(), {"-gline-tables-only", "-cxx-isystem", installed.headers});
    if (arguments.isLinked())
      addLinker(command, arguments, installed);
    command.push_back("--end-no-unused-arguments");
  }
  addForClang(command, arguments);
  if (!arguments.libraries.empty()) {
    command.push_back("--start-no-unused-arguments");
    command.insert(command.end(), arguments.libraries.begin(), arguments.libraries.end());
    command.push_back("--end-no-unused-arguments");
  }
  return command;
}
