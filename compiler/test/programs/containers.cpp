// RUN: %same %s
// RUN: %lifted %s
// Containers walked by iterators and ranges, with what algorithms make of them.
#include <algorithm>
#include <array>
#include <bitset>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <list>
#include <numeric>
#include <queue>
#include <set>
#include <string>
#include <vector>

namespace {

using Graph = std::vector<std::vector<std::pair<int, int>>>;

Graph make(int nodes, int edges) {
  Graph graph(nodes);
  std::uint64_t seed = 42;
  for (int i = 0; i < edges; i++) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    graph[seed >> 40 & 63].emplace_back(seed >> 20 & 63, 1 + (seed >> 50) % 9);
  }
  return graph;
}

[[gnu::noinline]] long distances(const Graph &graph) {
  std::vector<int> best(graph.size(), 1 << 20);
  std::priority_queue<std::pair<int, int>, std::vector<std::pair<int, int>>, std::greater<>> queue;
  queue.emplace(best[0] = 0, 0);
  while (!queue.empty()) {
    auto [length, at] = queue.top();
    queue.pop();
    if (length > best[at])
      continue;
    for (auto [to, weight] : graph[at])
      if (length + weight < best[to])
        queue.emplace(best[to] = length + weight, to);
  }
  return std::accumulate(best.begin(), best.end(), 0L);
}

[[gnu::noinline]] double rank(const Graph &graph) {
  std::vector<double> now(graph.size(), 1.0), next(graph.size());
  for (int round = 0; round < 10; round++) {
    std::fill(next.begin(), next.end(), 0.15);
    for (std::size_t i = 0; i < graph.size(); i++)
      for (const auto &edge : graph[i])
        next[edge.first] += 0.85 * now[i] / graph[i].size();
    now.swap(next);
  }
  return std::inner_product(now.begin(), now.end(), next.begin(), 0.0);
}

} // namespace

int main() {
  Graph graph = make(64, 300);
  std::printf("%ld %.9g\n", distances(graph), rank(graph));
  std::list<int> list{5, 1, 4};
  list.sort();
  list.insert(std::next(list.begin()), 9);
  std::deque<std::string> deque;
  for (int i : list)
    i % 2 ? deque.push_front(std::to_string(i)) : deque.push_back(std::to_string(i));
  for (auto &text : deque)
    std::printf("%s ", text.c_str());
  std::set<int, std::greater<>> set{3, 1, 4, 1, 5, 9, 2, 6};
  std::printf("%zu %d\n", set.size(), *set.upper_bound(5));
  std::array<std::bitset<70>, 3> bits;
  for (int i = 0; i < 3; i++)
    for (int j = i; j < 70; j += i + 2)
      bits[i].set(j);
  std::printf("%zu %zu\n", (bits[0] & bits[1]).count(), (bits[1] ^ bits[2]).count());
  return 0;
}
