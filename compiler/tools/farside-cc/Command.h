#ifndef FARSIDE_CC_COMMAND_H
#define FARSIDE_CC_COMMAND_H

#include <string>
#include <vector>

/// Says what is wrong and what helps. How the program ends.
int cannotStart(const std::string &what, const std::string &remedy);

/// Goes on as another program; comes back if that cannot be started, with how this one ends.
int become(const std::vector<std::string> &command, const std::string &remedy);

/// Runs another program. How it ended, as a shell would say.
int run(const std::vector<std::string> &command, const std::string &remedy);

#endif
