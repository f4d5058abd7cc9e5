#ifndef FARSIDE_CC_RESPONSES_H
#define FARSIDE_CC_RESPONSES_H

#include <string>
#include <vector>

/// The arguments in a response file, split as clang splits them: at white space outside of quotes, with backslashes
/// before what is meant literally. Empty if it cannot be read; clang says so better.
std::vector<std::string> readResponseFile(const std::string &path);

#endif
