#include "Tensors.h"

#include "Command.h"
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace fs = std::filesystem;

namespace {

constexpr int failed = 1;

/// Options before names that are no inputs.
bool takesName(const std::string &option) {
  static constexpr std::string_view options[] = {"-o", "-MF", "-MT", "-MQ", "-Xlinker", "-Xclang", "-include"};
  return std::find(std::begin(options), std::end(options), option) != std::end(options);
}

} // namespace

bool isTensorName(const std::string &argument) { return argument.ends_with(".mlir") && !argument.starts_with('-'); }

std::vector<size_t> tensorInputs(const std::vector<std::string> &arguments) {
  std::vector<size_t> inputs;
  std::string language = "none";
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "-x" && i + 1 < arguments.size())
      language = arguments[++i];
    else if (arguments[i].starts_with("-x"))
      language = arguments[i].substr(2);
    else if (takesName(arguments[i]))
      ++i;
    else if (isTensorName(arguments[i]) && language == "none")
      inputs.push_back(i);
  }
  return inputs;
}

Translations::~Translations() {
  std::error_code error;
  if (!directory.empty())
    fs::remove_all(directory, error);
}

int Translations::replace(std::vector<std::string> &arguments, const std::vector<size_t> &inputs,
                          const std::vector<std::string> &translator) {
  std::error_code error;
  std::string pattern = fs::temp_directory_path(error) / "farside-cc-XXXXXX";
  if (error || !mkdtemp(pattern.data())) {
    std::fprintf(stderr, "farside-cc: cannot make a directory for temporary files: %s\n",
                 error ? error.message().c_str() : std::strerror(errno));
    return failed;
  }
  directory = pattern;
  for (size_t input : inputs) {
    // clang names what it makes after its input.
    fs::path place = directory / std::to_string(input);
    fs::create_directory(place, error);
    fs::path bitcode = place / fs::path(arguments[input]).filename().replace_extension(".bc");
    std::vector<std::string> command = translator;
    command.insert(command.end(), {arguments[input], "-o", bitcode});
    if (int status = run(command, "build or install it with farside-cc: make compiler"))
      return status;
    arguments[input] = bitcode;
  }
  return 0;
}
