#include "Command.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

namespace {

constexpr int notStarted = 127;
constexpr int killed = 128;

} // namespace

int cannotStart(const std::string &what, const std::string &remedy) {
  std::fprintf(stderr, "farside-cc: %s; %s\n", what.c_str(), remedy.c_str());
  return notStarted;
}

int become(const std::vector<std::string> &command, const std::string &remedy) {
  std::vector<char *> pointers;
  for (const std::string &argument : command)
    pointers.push_back(const_cast<char *>(argument.c_str()));
  pointers.push_back(nullptr);
  execv(pointers.front(), pointers.data());
  return cannotStart("cannot run " + command.front() + ": " + std::strerror(errno), remedy);
}

int run(const std::vector<std::string> &command, const std::string &remedy) {
  pid_t child = fork();
  if (child < 0)
    return cannotStart(std::string("cannot start another process: ") + std::strerror(errno), "end some");
  if (child == 0)
    _exit(become(command, remedy));
  // Who interrupts means the other program; this one tidies up after it.
  auto interrupt = std::signal(SIGINT, SIG_IGN), quit = std::signal(SIGQUIT, SIG_IGN);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  std::signal(SIGINT, interrupt);
  std::signal(SIGQUIT, quit);
  return WIFEXITED(status) ? WEXITSTATUS(status) : killed + WTERMSIG(status);
}
