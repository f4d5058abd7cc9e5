#ifndef FARSIDE_SECTIONS_SECTIONFILE_H
#define FARSIDE_SECTIONS_SECTIONFILE_H

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace farside {

/// Allocations in the source, by what is known of them; what is left open fits everything.
struct SiteName {
  std::string file;
  std::string function;
  uint64_t line = 0;
  uint64_t column = 0;
  /// The line of the section file that names them.
  unsigned place = 0;
};

/// What a section is to be, and which allocations are to be in it.
struct SectionSpec {
  std::string name;
  uint64_t capacity = 0;
  uint64_t line = 0;
  /// What it has instead, where at least so much memory is local: by the local memory, the least first.
  std::vector<std::pair<uint64_t, uint64_t>> capacities;
  /// Most bytes that are allocated in it at once, if that is known: where it has room for them, it is plain memory.
  uint64_t holds = 0;
  /// The section whose local memory it shares, since both are not used at the same time; empty: none. That one shares
  /// nobody's.
  std::string with;
  /// Lines of a set, as in farside/section.h: 1 is direct, 0 is all.
  unsigned ways = 1;
  /// Lines that loops send for before they come to them.
  uint64_t ahead = 0;
  /// So many of what is found by indices and pointers are sent for in one go; 0: as many as seems best for a loop.
  uint64_t batch = 0;
  /// Whether what loops have gone through stays as long as anything else.
  bool keep = false;
  /// Whether only fields that are used come and go, in loops that use no others.
  bool fields = false;
  /// Whether each thread has a section of its own, of this capacity, to which only goes what no other thread comes to.
  bool own = false;
  /// Whether each thread but the main one, which alone writes to it, reads it through a copy of its own.
  bool copies = false;
  unsigned place = 0;
  std::vector<SiteName> sites;

  /// The least that it may have, in bytes.
  uint64_t leastCapacity() const;
};

/// A function that is to run where its data is.
struct OffloadName {
  std::string function;
  /// The line and the column of the section file that name it.
  unsigned line = 0, column = 0;
};

/// What is wrong with a section file, and where; no line means the whole file.
struct SectionFileError {
  unsigned line = 0;
  unsigned column = 0;
  std::string message;
};

/// A section file: sections, and which allocations of a program they are for. See docs/compiler.md.
struct SectionFile {
  std::string path;
  /// Whether several threads use sections: -1 if the file does not say.
  int threads = -1;
  std::vector<SectionSpec> sections;
  /// Most bytes that the program uses at once besides its sections, if that is known.
  uint64_t paged = 0;
  /// By bytes of local memory, the least first, how many lines a second the program waited for when its sections were found.
  std::vector<std::pair<uint64_t, uint64_t>> tuned;
  std::vector<OffloadName> offload;
  std::vector<SectionFileError> errors;

  /// The section by whose name those are known that a section, by its number, shares memory with.
  const std::string &groupOf(unsigned section) const;

  /// How an error, or a warning, is shown: as a compiler shows those in a source.
  std::string show(const SectionFileError &error, const std::string &kind = "error") const;
};

/// Reads a section file. It is good if it has no errors.
SectionFile readSectionFile(const std::string &path);

} // namespace farside

#endif
