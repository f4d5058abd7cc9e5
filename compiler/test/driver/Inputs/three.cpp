#include <string>
#include <cstdio>
int main() { std::string text(GREETING); std::printf("%zu\n", text.size()); }
