#include "Farside/Sections/SectionFile.h"

#include <algorithm>
#include <bit>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <system_error>

#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>

namespace farside {
namespace {

// What the runtime takes; see farside-sections.
constexpr uint64_t leastLine = 64;
constexpr uint64_t mostLine = 2 << 20;
constexpr uint64_t mostWays = 1 << 16;
constexpr uint64_t mostSlots = 1 << 28;
constexpr size_t mostSections = 255;
constexpr size_t longestName = 40;
/// No machine has so much memory that a larger part of it could be lent to one section.
constexpr uint64_t mostCapacity = uint64_t(1) << 46;
constexpr uint64_t mostAhead = 64;
constexpr uint64_t usualAhead = 8;
constexpr uint64_t mostTogether = 16;

/// Reads one file, and notes all that is wrong with it.
class Reader {
public:
  explicit Reader(SectionFile &file) : file(file) {}

  void read(const toml::table &root) {
    allow(root, {"threads", "paged", "tuned", "offload", "section"});
    if (auto *offload = root.get("offload"))
      readOffload(*offload);
    if (auto *paged = root.get("paged"))
      file.paged = bytes(*paged, "paged").value_or(0);
    if (auto *tuned = root.get("tuned"))
      readTuned(*tuned);
    if (auto *threads = root.get("threads"))
      file.threads = truth(*threads, "threads").value_or(file.threads);
    auto *sections = root.get("section");
    if (!sections)
      return complain(root, "no [section.NAME] in it");
    if (!sections->is_table())
      return complain(*sections, "'section' is no table: write [section.NAME]");
    for (auto &&[key, node] : *sections->as_table())
      readSection(key, node);
    std::sort(file.sections.begin(), file.sections.end(),
              [](const auto &one, const auto &other) { return one.place < other.place; });
    if (file.sections.size() > mostSections)
      complain(*sections, "more than 255 sections");
    for (auto [section, node] : sharing)
      checkSharing(section, *node);
  }

private:
  void complain(const toml::node &node, std::string message) {
    file.errors.push_back({node.source().begin.line, node.source().begin.column, std::move(message)});
  }

  void allow(const toml::table &table, std::initializer_list<std::string_view> keys) {
    for (auto &&[key, node] : table)
      if (std::find(keys.begin(), keys.end(), key.str()) == keys.end())
        file.errors.push_back({key.source().begin.line, key.source().begin.column,
                               "'" + std::string(key.str()) + "' is not known here"});
  }

  /// Bytes: an integer, or a text as "64M".
  std::optional<uint64_t> bytes(const toml::node &node, std::string_view key) {
    std::string wrong = "'" + std::string(key) + "' is a number of bytes, as 4096 or \"64M\"";
    if (node.is_integer() && **node.as_integer() >= 0)
      return **node.as_integer();
    auto *text = node.as_string();
    if (!text) {
      complain(node, wrong);
      return std::nullopt;
    }
    uint64_t number = 0;
    std::string_view rest = **text;
    bool digits = false, large = false;
    for (; !rest.empty() && rest.front() >= '0' && rest.front() <= '9'; rest.remove_prefix(1)) {
      digits = true;
      large |= number > mostCapacity;
      number = large ? number : number * 10 + (rest.front() - '0');
    }
    constexpr std::string_view units = "KMGT";
    size_t unit = rest.size() == 1 ? units.find(rest.front()) : std::string_view::npos;
    if (!digits || (!rest.empty() && unit == std::string_view::npos)) {
      complain(node, wrong);
      return std::nullopt;
    }
    unsigned shift = rest.empty() ? 0 : 10 * (unit + 1);
    return large || number > (mostCapacity >> shift) ? mostCapacity + 1 : number << shift;
  }

  std::optional<uint64_t> number(const toml::node &node, std::string_view key, uint64_t least, uint64_t most) {
    if (node.is_integer() && **node.as_integer() >= int64_t(least) && **node.as_integer() <= int64_t(most))
      return **node.as_integer();
    complain(node, "'" + std::string(key) + "' is a number from " + std::to_string(least) + " to " +
                       std::to_string(most));
    return std::nullopt;
  }

  std::optional<bool> truth(const toml::node &node, std::string_view key) {
    if (auto *value = node.as_boolean())
      return value->get();
    complain(node, "'" + std::string(key) + "' is true or false");
    return std::nullopt;
  }

  std::optional<std::string> text(const toml::node &node, std::string_view key) {
    if (auto *value = node.as_string(); value && !value->get().empty())
      return value->get();
    complain(node, "'" + std::string(key) + "' is a text that is not empty");
    return std::nullopt;
  }

  void readStructure(const toml::node &node, SectionSpec &section) {
    if (auto *word = node.as_string()) {
      if (word->get() == "direct")
        section.ways = 1;
      else if (word->get() == "full")
        section.ways = 0;
      else
        complain(node, "no structure '" + word->get() + "': \"direct\", \"full\", or how many lines a set has");
    } else if (auto ways = number(node, "structure", 1, mostWays)) {
      section.ways = *ways;
    }
  }

  void readSection(const toml::key &key, const toml::node &node) {
    SectionSpec section;
    section.name = key.str();
    section.place = key.source().begin.line;
    auto *table = node.as_table();
    if (!table)
      return complain(node, "a section is a table: write [section." + section.name + "]");
    bool plain = !section.name.empty() && std::all_of(section.name.begin(), section.name.end(), [](char letter) {
      return isalnum(static_cast<unsigned char>(letter)) || letter == '_' || letter == '-';
    });
    if (!plain || section.name.size() > longestName)
      complain(node, "the name of a section has up to 40 letters, digits, '_' and '-'");
    allow(*table, {"capacity", "capacities", "holds", "line", "structure", "ahead", "batch", "keep", "with", "fields", "own",
                   "copies", "sites"});
    size_t before = file.errors.size();
    auto *capacity = need(*table, "capacity"), *line = need(*table, "line"), *sites = need(*table, "sites");
    if (capacity)
      section.capacity = bytes(*capacity, "capacity").value_or(0);
    if (line)
      section.line = bytes(*line, "line").value_or(0);
    if (auto *structure = table->get("structure"))
      readStructure(*structure, section);
    if (file.errors.size() == before)
      checkShape(*capacity, *line, section);
    if (auto *capacities = table->get("capacities"))
      readCapacities(*capacities, section);
    if (auto *ahead = table->get("ahead"))
      section.ahead = number(*ahead, "ahead", 0, mostAhead).value_or(0);
    else if (file.errors.size() == before)
      section.ahead = std::min(usualAhead, section.leastCapacity() / section.line / 4);
    if (auto *batch = table->get("batch"))
      section.batch = number(*batch, "batch", 1, mostTogether).value_or(0);
    if (auto *keep = table->get("keep"))
      section.keep = truth(*keep, "keep").value_or(false);
    if (auto *holds = table->get("holds"))
      section.holds = bytes(*holds, "holds").value_or(0);
    if (auto *with = table->get("with"))
      if (section.with = text(*with, "with").value_or(""); !section.with.empty())
        sharing.emplace_back(section.name, with);
    if (auto *fields = table->get("fields"))
      section.fields = truth(*fields, "fields").value_or(false);
    if (auto *own = table->get("own"))
      section.own = truth(*own, "own").value_or(false);
    if (auto *copies = table->get("copies"))
      readCopies(*copies, section);
    if (sites)
      readSites(*sites, section);
    file.sections.push_back(std::move(section));
  }

  /// All of a section's lines are copied, and of those that are there.
  void readCopies(const toml::node &node, SectionSpec &section) {
    section.copies = truth(node, "copies").value_or(false);
    if (section.copies && section.own)
      complain(node, "what no other thread comes to ('own') has no copies");
    else if (section.copies && section.fields)
      complain(node, "threads have copies of whole lines, not of 'fields'");
  }

  const toml::node *need(const toml::table &table, std::string_view key) {
    auto *node = table.get(key);
    if (!node)
      complain(table, "the section has no '" + std::string(key) + "'");
    return node;
  }

  void checkShape(const toml::node &capacity, const toml::node &line, const SectionSpec &section) {
    if (!std::has_single_bit(section.line) || section.line < leastLine || section.line > mostLine)
      return complain(line, "lines of " + std::to_string(section.line) +
                                " bytes: a line has 64 bytes to 2 MiB, and a power of two of them");
    uint64_t least = section.line * std::max(section.ways, 1u);
    if (section.capacity < least)
      complain(capacity, "a capacity of " + std::to_string(section.capacity) + " bytes, which is less than " +
                             std::to_string(least) + ", the least with such lines");
    else if (section.capacity > mostCapacity)
      complain(capacity, "a capacity of more than 64T");
    else if (section.capacity / section.line > mostSlots)
      complain(capacity, "a capacity that makes more than " + std::to_string(mostSlots) + " lines");
  }

  /// A section shares the memory of one that is there, is another one, and shares nobody's.
  void checkSharing(const std::string &name, const toml::node &node) {
    const std::string &with = **node.as_string();
    auto other = std::find_if(file.sections.begin(), file.sections.end(),
                              [&](const SectionSpec &section) { return section.name == with; });
    auto is = [&](const std::string &section, bool SectionSpec::*what) {
      return std::any_of(file.sections.begin(), file.sections.end(),
                         [&](const SectionSpec &each) { return each.name == section && each.*what; });
    };
    if (with == name)
      complain(node, "a section shares memory with others only");
    else if (is(name, &SectionSpec::own))
      complain(node, "each thread has a section of its own: it shares memory with none");
    else if (is(with, &SectionSpec::own))
      complain(node, "each thread has a section '" + with + "' of its own: it shares memory with none");
    else if (is(name, &SectionSpec::copies) || is(with, &SectionSpec::copies))
      complain(node, "a section with copies shares memory with none");
    else if (other == file.sections.end())
      complain(node, "no section '" + with + "' to share memory with");
    else if (!other->with.empty())
      complain(node, "'" + with + "' shares the memory of '" + other->with + "': name that one");
  }

  void readOffload(const toml::node &node) {
    auto *array = node.as_array();
    if (!array)
      return complain(node, "'offload' is a list of functions: [\"total\", \"count\"]");
    for (const toml::node &each : *array)
      if (auto function = text(each, "a function in offload"))
        file.offload.push_back({*function, each.source().begin.line, each.source().begin.column});
  }

  void readTuned(const toml::node &node) {
    auto *array = node.as_array();
    if (!array)
      return complain(node, "'tuned' is a list: [{ local = \"1G\", misses = 1000 }]");
    for (const toml::node &each : *array) {
      auto *table = each.as_table();
      auto *local = table ? table->get("local") : nullptr, *misses = table ? table->get("misses") : nullptr;
      if (!local || !misses)
        return complain(each, "what is in 'tuned' is a table: { local = \"1G\", misses = 1000 }");
      allow(*table, {"local", "misses"});
      auto from = bytes(*local, "local");
      if (auto count = number(*misses, "misses", 0, INT64_MAX); count && from)
        file.tuned.emplace_back(*from, *count);
    }
    std::sort(file.tuned.begin(), file.tuned.end());
  }

  void readCapacities(const toml::node &node, SectionSpec &section) {
    auto *array = node.as_array();
    if (!array || array->empty())
      return complain(node, "'capacities' is a list: [{ local = \"1G\", capacity = \"600M\" }]");
    for (const toml::node &each : *array) {
      auto *table = each.as_table();
      if (!table)
        return complain(each, "what is in 'capacities' is a table: { local = \"1G\", capacity = \"600M\" }");
      allow(*table, {"local", "capacity"});
      size_t before = file.errors.size();
      auto *local = need(*table, "local"), *capacity = need(*table, "capacity");
      uint64_t from = local ? bytes(*local, "local").value_or(0) : 0;
      SectionSpec other = section;
      other.capacity = capacity ? bytes(*capacity, "capacity").value_or(0) : 0;
      if (file.errors.size() != before)
        continue;
      checkShape(*capacity, *capacity, other);
      section.capacities.emplace_back(from, other.capacity);
    }
    std::sort(section.capacities.begin(), section.capacities.end());
  }

  void readSites(const toml::node &node, SectionSpec &section) {
    auto *array = node.as_array();
    if (!array || array->empty())
      return complain(node, "'sites' is a list of what is allocated there: [{ file = \"graph.c\", line = 12 }]");
    for (const toml::node &each : *array)
      readSite(each, section);
  }

  void readSite(const toml::node &node, SectionSpec &section) {
    auto *table = node.as_table();
    if (!table)
      return complain(node, "a site is a table: { file = \"graph.c\", line = 12 }");
    allow(*table, {"file", "function", "line", "column"});
    SiteName site;
    site.place = node.source().begin.line;
    auto *name = table->get("file"), *function = table->get("function");
    auto *line = table->get("line"), *column = table->get("column");
    if (name)
      site.file = text(*name, "file").value_or("");
    if (function)
      site.function = text(*function, "function").value_or("");
    if (line)
      site.line = number(*line, "line", 1, UINT32_MAX).value_or(0);
    if (column)
      site.column = number(*column, "column", 1, UINT32_MAX).value_or(0);
    if (line && !name)
      complain(node, "a site with a line needs the file, too");
    else if (column && !line)
      complain(node, "a site with a column needs the line, too");
    else if (!line && !function)
      complain(node, "a site needs a line or a function");
    section.sites.push_back(std::move(site));
  }

  SectionFile &file;
  /// Sections that share the memory of others, and where the file says whose.
  std::vector<std::pair<std::string, const toml::node *>> sharing;
};

} // namespace

uint64_t SectionSpec::leastCapacity() const {
  uint64_t least = capacity;
  for (auto [local, other] : capacities)
    least = std::min(least, other);
  return least;
}

const std::string &SectionFile::groupOf(unsigned section) const {
  const SectionSpec &spec = sections[section];
  return spec.with.empty() ? spec.name : spec.with;
}

std::string SectionFile::show(const SectionFileError &error, const std::string &kind) const {
  std::string place = path;
  if (error.line)
    place += ":" + std::to_string(error.line) + (error.column ? ":" + std::to_string(error.column) : "");
  return place + ": " + kind + ": " + error.message;
}

SectionFile readSectionFile(const std::string &path) {
  SectionFile file;
  file.path = path;
  // What the parser says of these is not why.
  std::error_code error;
  auto kind = std::filesystem::status(path, error).type();
  if (kind == std::filesystem::file_type::not_found || kind == std::filesystem::file_type::directory) {
    bool isDirectory = kind == std::filesystem::file_type::directory;
    file.errors.push_back({0, 0, isDirectory ? "it is a directory" : "there is no such file"});
    return file;
  }
  auto parsed = toml::parse_file(path);
  if (!parsed) {
    const toml::parse_error &error = parsed.error();
    file.errors.push_back({error.source().begin.line, error.source().begin.column, std::string(error.description())});
    return file;
  }
  Reader(file).read(parsed.table());
  std::sort(file.errors.begin(), file.errors.end(), [](const auto &one, const auto &other) {
    return std::pair(one.line, one.column) < std::pair(other.line, other.column);
  });
  return file;
}

} // namespace farside
