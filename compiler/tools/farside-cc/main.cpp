// farside-cc and farside-c++: clang, with the plugin that moves a program's data to far memory. Everything that clang
// knows is clang's; this adds what makes it load the plugin.

#include "Arguments.h"
#include "Command.h"
#include "Farside/Sections/SectionFile.h"
#include "Tensors.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <unistd.h>

namespace fs = std::filesystem;

namespace {

constexpr int badInput = 1;

/// What is beside the plugin, and programs cannot do without.
constexpr char unitsName[] = "libfarside-units.so", libraryName[] = "libfarside-sections.a";

/// Where `make install` and the build put the plugin, seen from this program.
fs::path pluginBeside(const fs::path &program) {
  return program.parent_path().parent_path() / "lib" / "farside" / "libfarside-compiler.so";
}

bool namedForCplusplus(const char *name) {
  std::string base = fs::path(name).filename();
  return base.ends_with("++");
}

/// For builds whose options nobody wants to edit: what is not said on the command line may be in the environment.
void addEnvironment(Arguments &arguments) {
  if (const char *sections = std::getenv("FARSIDE_SECTIONS"); sections && arguments.sections.empty())
    arguments.sections = sections;
  const char *profiled = std::getenv("FARSIDE_PROFILE_BUILD");
  if (profiled && std::strcmp(profiled, "1") == 0)
    arguments.profiled = true;
}

/// Tells what is wrong with the section file once, before clang reads a source; false if anything is.
bool checkSections(const Arguments &arguments) {
  if (arguments.sections.empty() || arguments.plain)
    return true;
  farside::SectionFile file = farside::readSectionFile(arguments.sections);
  for (const auto &error : file.errors)
    std::fprintf(stderr, "%s\n", file.show(error).c_str());
  return file.errors.empty();
}

/// What other linkers make of objects that are to be converted when they are linked does what it should, in paged memory.
void warnOfLinker(const Arguments &arguments) {
  if (!arguments.isConverting() || arguments.plain || arguments.byUnit || arguments.whole)
    return;
  if (std::string linker = arguments.otherLinker(); !linker.empty())
    std::fprintf(stderr,
                 "farside-cc: warning: %s: only lld puts allocations into sections when it links; units compiled with "
                 "this option are converted by themselves, and others not at all\n",
                 linker.c_str());
}

/// Who asks what became of the program is told if nothing did.
void remarkOnPlain(const Arguments &arguments) {
  if (arguments.remarks && !arguments.plain && !arguments.needsPlugin())
    std::fprintf(stderr, "farside-cc: remark: no section file is given: all of the program is as clang makes it, and its "
                         "memory is paged [-Rfarside]\n");
}

/// Units are appended, one after the other.
bool beginListing(const Arguments &arguments) {
  if (arguments.sections.empty() || arguments.plain) {
    std::fprintf(stderr, "farside-cc: -emit-rmem shows what goes to sections; say which: -fsections=FILE\n");
    return false;
  }
  std::string path = arguments.listed();
  std::FILE *file = path == "-" ? stdout : std::fopen(path.c_str(), "w");
  if (!file)
    std::fprintf(stderr, "farside-cc: cannot write %s: %s\n", path.c_str(), std::strerror(errno));
  else if (file != stdout)
    std::fclose(file);
  return file != nullptr;
}

} // namespace

int main(int count, char **given) {
  std::error_code error;
  fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error)
    return cannotStart("cannot find out where it is: " + error.message(), "is /proc mounted?");
  Arguments arguments = sortArguments({given + 1, given + count});
  addEnvironment(arguments);
  fs::path plugin = pluginBeside(program);
  auto beside = [&](const char *name) { return (plugin.parent_path() / name).string(); };
  if (arguments.needsPlugin())
    for (const std::string &needed : {plugin.string(), beside(unitsName), beside(libraryName)})
      if (!fs::exists(needed, error))
        return cannotStart("no " + needed, "build or install it with farside-cc: make compiler");
  if (!checkSections(arguments))
    return badInput;
  if (arguments.listing && !beginListing(arguments))
    return badInput;
  if (arguments.isLinked() && !fs::exists(FARSIDE_LINKER, error))
    return cannotStart("no " FARSIDE_LINKER ", which converts the program when it is linked",
                "install it: apt-get install lld-22; or convert units one by one: -fno-farside-link");
  warnOfLinker(arguments);
  remarkOnPlain(arguments);
  Installed installed{FARSIDE_CLANG,
                      FARSIDE_LINKER,
                      plugin.string(),
                      beside(unitsName),
                      beside("farside-sections.bc"),
                      beside("farside-sections-profile.bc"),
                      beside("farside-profile.bc"),
                      beside(libraryName),
                      beside("farside-cplusplus.bc"),
                      beside("include")};
  bool cplusplus = count > 0 && namedForCplusplus(given[0]);
  static constexpr char remedy[] = "install it: apt-get install clang-22";
  std::vector<size_t> tensors = tensorInputs(arguments.clang);
  if (tensors.empty())
    return become(clangCommand(arguments, installed, cplusplus), remedy);
  Translations translations;
  if (int status = translations.replace(arguments.clang, tensors,
                                        translateCommand(arguments, plugin.parent_path() / "farside-translate")))
    return status;
  // What tensors are computed with is in the mathematical library.
  arguments.libraries = {"-lm"};
  return run(clangCommand(arguments, installed, cplusplus), remedy);
}
