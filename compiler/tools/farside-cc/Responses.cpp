#include "Responses.h"

#include <cctype>
#include <fstream>
#include <iterator>

namespace {

/// Reads one argument after another.
class Splitter {
public:
  explicit Splitter(std::string text) : text(std::move(text)) {}

  std::vector<std::string> split() {
    std::vector<std::string> arguments;
    while (skipSpace())
      arguments.push_back(argument());
    return arguments;
  }

private:
  bool skipSpace() {
    while (at < text.size() && isSpace(text[at]))
      ++at;
    return at < text.size();
  }

  std::string argument() {
    std::string argument;
    while (at < text.size() && !isSpace(text[at])) {
      char next = text[at++];
      if (next == '\'' || next == '"')
        quoted(next, argument);
      else
        literal(next, argument);
    }
    return argument;
  }

  void quoted(char quote, std::string &argument) {
    while (at < text.size() && text[at] != quote) {
      char next = text[at++];
      // Between single quotes a backslash is one.
      if (quote == '"')
        literal(next, argument);
      else
        argument += next;
    }
    ++at;
  }

  void literal(char next, std::string &argument) {
    argument += next == '\\' && at < text.size() ? text[at++] : next;
  }

  static bool isSpace(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

  std::string text;
  std::size_t at = 0;
};

} // namespace

std::vector<std::string> readResponseFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return Splitter({std::istreambuf_iterator<char>(file), {}}).split();
}
