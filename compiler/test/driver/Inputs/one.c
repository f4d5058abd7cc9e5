#include "shared.h"
int one(int x) { return shared(x) + 1; }
