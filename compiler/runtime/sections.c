/*
 * What compiled programs do with sections, on top of farside/section.h. It is linked into them as bitcode, so that
 * lookups are inlined.
 *
 * Every pointer that comes here may also be plain: a section that could not be opened is plain memory, allocations fall
 * back to it, and code is shared by remote and by plain pointers. A plain pointer is never found in a section.
 *
 * It is one unit, in parts by what they are for.
 */
/* Strict C has no clock that goes on steadily. */
#define _POSIX_C_SOURCE 200112L

#include "sections/opening.h"
#include "sections/own.h"
#include "sections/copies.h"
#include "sections/allocation.h"
#include "sections/offload.h"
#include "sections/lookups.h"
#include "sections/known.h"
#include "sections/steps.h"
#include "sections/ahead.h"
#include "sections/ranges.h"
#include "sections/borrow.h"
#include "sections/lines.h"
#include "sections/fields.h"
