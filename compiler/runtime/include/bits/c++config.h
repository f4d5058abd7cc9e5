/*
 * Comes before the C++ library's file of this name where programs are compiled for sections. std::string is not taken from
 * the library then, but compiled with the program, as other templates are: what it allocates can only be in sections if all
 * that comes to it is seen. That is a setting of the library's own, for its checks. Streams stay in the library.
 */
#pragma GCC system_header
#ifndef _GLIBCXX_EXTERN_TEMPLATE
#include_next <bits/c++config.h>
#if defined(_GLIBCXX_EXTERN_TEMPLATE) && _GLIBCXX_EXTERN_TEMPLATE > 0
#undef _GLIBCXX_EXTERN_TEMPLATE
#define _GLIBCXX_EXTERN_TEMPLATE -1
#endif
#else
/* It has been here, or the program decides. */
#include_next <bits/c++config.h>
#endif
