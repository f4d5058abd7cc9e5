"""Containers of the C++ library whose nodes, or whose characters, the library itself works on: trees, lists, texts."""

PRELUDE = """\
#include <algorithm>
#include <list>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
"""


def containers(name, c, part, scalar, site, random):
    """A tree of values, one of texts, a list that is taken apart, and a table of texts."""
    read, write, count = scalar.read, scalar.write, random.choice([3, 60, 300])
    few, word = random.choice([1, 7, 100]), random.choice(['""', '"short"', '"a text that is longer than a short one"'])
    value = f"{c} value{{}}; value{part} = {write('h * 5 + i')};"
    declared = f"""\
static __attribute__((noinline)) std::string word_{name}(u64 i) {{
  std::string word = {word};
  word += std::to_string(i % {random.choice([5, 1000])}); {site()}
  if (i % 3) word.append(i % 40, char('a' + i % 26)); {site()}
  if (i % 5 == 0) word.insert(word.size() / 2, word); {site()}
  return word;
}}
"""
    lines = [f"std::map<u64, {c}> tree;", "std::multiset<std::string> words;", f"std::list<{c}> list, other;",
             "std::unordered_map<std::string, u64> table;",
             f"for (u64 i = 0; i < {count}; i++) {{", f"  {value}",
             f"  tree[(h ^ i * 7919) % {count}] = value; {site()}",
             f"  words.insert(word_{name}(h % 3 + i)); {site()}",
             f"  if (i % 2) list.push_back(value); {site()}", f"  else list.push_front(value); {site()}",
             f"  table[word_{name}(i)] += i; {site()}", "}",
             f"for (u64 i = 0; i < {count}; i += {few}) {{", f"  tree.erase(i);", f"  words.erase(word_{name}(i)); {site()}",
             "}", "for (auto at = list.begin(); at != list.end();) {", "  auto next = std::next(at);",
             f"  if ({read('(*at)' + part)} % 2) other.splice(other.begin(), list, at);", "  at = next;", "}",
             "other.reverse();", random.choice(["std::swap(list, other);", "list.splice(list.end(), other);", ""]),
             f"auto copied = tree; {site()}", f"tree.clear();",
             f"for (auto &[key, value] : copied) h = mix(h, key + {read('value' + part)});",
             f"for (auto at = copied.rbegin(); at != copied.rend(); ++at) h = mix(h, at->first);",
             f"for (const {c} &each : list) h = mix(h, {read('each' + part)});",
             "for (const std::string &each : words) h = mix(h, each.size() + (unsigned char)each.back());",
             f"for (u64 i = 0; i < {count}; i++)", f"  if (auto found = table.find(word_{name}(i)); found != table.end())",
             f"    h = mix(h, found->second); {site()}",
             'if (!words.empty()) printf("%s\\n", words.begin()->c_str());', "return h;"]
    return declared, lines
