#ifndef FARSIDE_CC_TENSORS_H
#define FARSIDE_CC_TENSORS_H

#include <filesystem>
#include <string>
#include <vector>

/// Whether an argument names a program of a tensor compiler.
bool isTensorName(const std::string &argument);

/// Which arguments of clang are such programs, unless the user says that they are in another language.
std::vector<size_t> tensorInputs(const std::vector<std::string> &arguments);

/// Programs of tensor compilers, translated to what clang compiles, for as long as clang needs that.
class Translations {
public:
  Translations() = default;
  Translations(const Translations &) = delete;
  ~Translations();

  /// Translates inputs with a command that is told which, and puts what is made of them in their place. 0, or else how
  /// the program ends.
  int replace(std::vector<std::string> &arguments, const std::vector<size_t> &inputs,
              const std::vector<std::string> &translator);

private:
  std::filesystem::path directory;
};

#endif
