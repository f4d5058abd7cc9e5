/*
 * What containers of the C++ library call of it that works on their nodes: defined here once more, so that it is converted
 * as the program's own functions are. The library's work on the same nodes, in what is not compiled here.
 */
#include "cplusplus/lists.h"
#include "cplusplus/trees.h"
