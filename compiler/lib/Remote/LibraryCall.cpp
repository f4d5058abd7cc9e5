#include "Farside/Remote/LibraryCall.h"

#include "Farside/Remote/HeapCall.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace farside {
namespace {

constexpr int32_t none = Borrow::none;

/// More of the memory of one call can be lent.
constexpr unsigned mostBorrows = 2;

Borrow text(int32_t argument, int32_t most = none) { return {argument, most, none, true, false, false, 0}; }
Borrow bytes(int32_t argument, int32_t length, int32_t factor = none) { return {argument, length, factor, false, false, false, 0}; }
Borrow room(int32_t argument, int32_t length, int32_t factor = none) { return {argument, length, factor, false, true, false, 0}; }
Borrow part(int32_t argument, int32_t size) { return {argument, none, none, false, true, false, size}; }
Borrow copied(Borrow borrow) {
  borrow.isCopied = true;
  return borrow;
}

struct Known {
  unsigned arguments;
  LibraryCall call;
};

const StringMap<Known> &known() {
  using Content = LibraryCall::Content;
  static const StringMap<Known> all = [] {
    StringMap<Known> all;
    auto add = [&](std::initializer_list<StringRef> names, unsigned arguments, std::initializer_list<Borrow> borrows,
                   int32_t returned = none, Content content = LibraryCall::stays) {
      for (StringRef name : names)
        all[name] = {arguments, {borrows, returned, content, nullptr}};
    };
    add({"strlen", "atoi", "atol", "atoll", "atof", "strdup", "puts", "perror", "remove", "unlink"}, 1, {text(0)});
    add({"strnlen", "strndup"}, 2, {text(0, 1)});
    add({"strcmp", "strcasecmp", "strcoll", "strspn", "strcspn", "fopen", "fopen64"}, 2, {text(0), text(1)});
    add({"strncmp", "strncasecmp"}, 3, {text(0, 2), text(1, 2)});
    add({"strchr", "strrchr", "strchrnul"}, 2, {text(0)}, 0);
    add({"strstr", "strcasestr", "strpbrk"}, 2, {text(0), text(1)}, 0);
    add({"strncpy"}, 3, {room(0, 2), text(1, 2)}, 0);
    add({"memcmp", "bcmp"}, 3, {bytes(0, 2), bytes(1, 2)});
    add({"memchr", "memrchr"}, 3, {bytes(0, 2)}, 0);
    add({"fputs", "fputs_unlocked"}, 2, {text(0)});
    add({"fgets", "fgets_unlocked"}, 3, {room(0, 1)}, 0);
    add({"fwrite", "fwrite_unlocked"}, 4, {bytes(0, 1, 2)}, none, LibraryCall::leaves);
    add({"fread", "fread_unlocked"}, 4, {room(0, 1, 2)}, none, LibraryCall::comes);
    add({"write"}, 3, {bytes(1, 2)}, none, LibraryCall::leaves);
    add({"pwrite", "pwrite64"}, 4, {bytes(1, 2)}, none, LibraryCall::leaves);
    add({"read"}, 3, {room(1, 2)}, none, LibraryCall::comes);
    add({"pread", "pread64"}, 4, {room(1, 2)}, none, LibraryCall::comes);
    // What says how a hash table grows, which is a part of the table.
    add({"_ZNKSt8__detail20_Prime_rehash_policy14_M_need_rehashEmmm"}, 4, {part(0, 16)});
    add({"_ZNKSt8__detail20_Prime_rehash_policy11_M_next_bktEm"}, 2, {part(0, 16)});
    // Of std::hash, of what is no number.
    add({"_ZSt11_Hash_bytesPKvmm"}, 3, {bytes(0, 1)});
    add({"qsort"}, 4, {copied(room(0, 1, 2))});
    // Where the number ends is asked for below.
    add({"strtol", "strtoul", "strtoll", "strtoull", "__isoc23_strtol", "__isoc23_strtoul", "__isoc23_strtoll",
         "__isoc23_strtoull"}, 3, {text(0)});
    add({"strtod", "strtof"}, 2, {text(0)});
    return all;
  }();
  return all;
}

bool isScanning(StringRef name) { return name == "sscanf" || name == "__isoc99_sscanf" || name == "__isoc23_sscanf"; }

bool endsAreAsked(StringRef name) { return name.contains("strto"); }

bool isLength(const CallBase &call, int32_t argument) {
  return argument == none || call.getArgOperand(argument)->getType()->isIntegerTy(64) ||
         call.getArgOperand(argument)->getType()->isIntegerTy(32);
}

/// Whether a call has such arguments.
bool fits(const CallBase &call, const LibraryCall &library) {
  return all_of(library.borrows, [&](const Borrow &borrow) {
           return call.getArgOperand(borrow.argument)->getType()->isPointerTy() && isLength(call, borrow.length) &&
                  isLength(call, borrow.factor);
         }) &&
         all_of(library.others, [&](const Borrow &borrow) { return isLength(call, borrow.length); }) &&
         (library.returned == none || call.getType()->isPointerTy());
}

/// What compares for qsort(): two pointers into what is sorted.
const Function *comparing(const CallBase &call) {
  auto *function = dyn_cast<Function>(call.getArgOperand(3));
  bool suits = function && !function->isDeclaration() && !function->isVarArg() && function->arg_size() == 2 &&
               function->getArg(0)->getType()->isPointerTy() && function->getArg(1)->getType()->isPointerTy();
  return suits ? function : nullptr;
}

/// Where functions that take a format have it, and what they write to.
struct Format {
  unsigned argument;
  std::optional<Borrow> room;
};

std::optional<Format> formatOf(StringRef name) {
  static const StringMap<Format> all{
      {"printf", {0, {}}},       {"__printf_chk", {1, {}}},  {"fprintf", {1, {}}},
      {"__fprintf_chk", {2, {}}}, {"dprintf", {1, {}}},       {"__dprintf_chk", {2, {}}},
      {"asprintf", {1, {}}},
      {"sprintf", {1, {}}},      {"__sprintf_chk", {3, {}}}, {"snprintf", {2, room(0, 1)}},
      {"__snprintf_chk", {4, room(0, 1)}}};
  auto found = all.find(name);
  return found == all.end() ? std::nullopt : std::optional(found->second);
}

/// An argument behind a format, counted from the first, that is text, and the one that says how much of it is looked at.
struct FormattedText {
  int32_t argument, most;
};

/// The arguments behind a format that are text; nothing if not all of it is understood.
std::optional<SmallVector<FormattedText>> textsOf(StringRef format) {
  SmallVector<FormattedText> texts;
  int32_t argument = 0;
  for (size_t at = 0; (at = format.find('%', at)) != StringRef::npos; ++at) {
    StringRef rest = format.substr(at + 1);
    size_t flags = rest.find_first_not_of("-+ #0'I");
    bool isExact = false;
    int32_t most = none;
    size_t end = flags;
    for (; end < rest.size() && (isDigit(rest[end]) || rest[end] == '*' || rest[end] == '.'); ++end) {
      isExact |= rest[end] == '.';
      if (rest[end] == '*')
        most = isExact ? argument++ : (++argument, none);
    }
    size_t kind = rest.find_first_not_of("hlLqjzt", end);
    if (flags == StringRef::npos || kind == StringRef::npos || rest[kind] == '$' || rest[kind] == 'n')
      return std::nullopt;
    at += 1 + kind;
    // The latter is errno's text.
    if (rest[kind] == '%' || rest[kind] == 'm')
      continue;
    // What a number in the format ends may have no zero byte. A negative argument does not end anything.
    if (rest[kind] == 's' && (!isExact || most != none) && kind == end)
      texts.push_back({argument, most});
    ++argument;
  }
  return texts;
}

/// What is destroyed when the program ends is passed to what destroys it.
std::optional<LibraryCall> destroyingAtEnd(const CallBase &call) {
  auto *function = dyn_cast<Function>(call.getArgOperand(0));
  bool suits = call.arg_size() == 3 && function && !function->isDeclaration() && !function->isVarArg() &&
               function->arg_size() == 1 && function->getArg(0)->getType()->isPointerTy();
  if (!suits)
    return std::nullopt;
  LibraryCall library;
  library.callback = function;
  library.handed = 1;
  return library;
}

std::optional<LibraryCall> printing(const CallBase &call, const Format &format) {
  const Function &callee = *call.getCalledFunction();
  StringRef string;
  if (!callee.isVarArg() || callee.arg_size() != format.argument + 1 ||
      !getConstantStringInfo(call.getArgOperand(format.argument), string))
    return std::nullopt;
  auto texts = textsOf(string);
  if (!texts)
    return std::nullopt;
  LibraryCall library;
  if (format.room)
    library.borrows.push_back(*format.room);
  if (callee.getName() == "asprintf")
    library.made = 0;
  int32_t first = format.argument + 1;
  for (auto [argument, most] : *texts) {
    unsigned number = first + argument;
    if (number >= call.arg_size() || !mayBeAllocated(call.getArgOperand(number)))
      continue;
    Borrow borrow = text(number, most == none ? none : first + most);
    if (library.borrows.size() < mostBorrows)
      library.borrows.push_back(borrow);
    else
      library.others.push_back(borrow);
  }
  return library;
}

std::optional<LibraryCall> describe(const CallBase &call) {
  const Function *callee = call.getCalledFunction();
  // What is called in the place of the program's is none of these.
  if (!callee || !callee->isDeclaration() || call.hasOperandBundles() || call.isMustTailCall() || call.isNoBuiltin())
    return std::nullopt;
  std::optional<LibraryCall> library;
  StringRef name = callee->getName();
  if (auto format = formatOf(name)) {
    library = printing(call, *format);
  } else if (name == "__cxa_atexit") {
    library = destroyingAtEnd(call);
  } else if (isScanning(name) && callee->isVarArg() && callee->arg_size() == 2) {
    // What it reads goes to places that are not lent.
    library = LibraryCall{{text(0)}};
  } else if (auto found = known().find(name);
             found != known().end() && !callee->isVarArg() && call.arg_size() == found->second.arguments) {
    library = found->second.call;
    if (endsAreAsked(name) && !isa<ConstantPointerNull>(call.getArgOperand(1)))
      return std::nullopt;
  }
  if (!library || !fits(call, *library))
    return std::nullopt;
  if (name == "qsort" && !(library->callback = comparing(call)))
    return std::nullopt;
  return library;
}

} // namespace

const Borrow *LibraryCall::of(unsigned argument) const {
  auto found = find_if(borrows, [&](const Borrow &borrow) { return unsigned(borrow.argument) == argument; });
  return found == borrows.end() ? nullptr : found;
}

std::optional<LibraryCall> libraryCallOf(const CallBase &call) {
  return isa<CallInst>(call) ? describe(call) : std::nullopt;
}

std::optional<LibraryCall> libraryCallOf(const InvokeInst &call) { return describe(call); }

const Function *callbackOf(const CallBase &call) {
  auto library = libraryCallOf(call);
  return library ? library->callback : nullptr;
}

} // namespace farside
