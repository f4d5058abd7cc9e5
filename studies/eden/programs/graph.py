"""Builds a graph of objects, and looks for shortest paths in it."""

import heapq
import sys


class Place:
    """A node with its neighbours."""

    __slots__ = ("name", "roads", "far")

    def __init__(self, name):
        self.name = name
        self.roads = []
        self.far = None


def build(count):
    places = [Place(f"place {i}") for i in range(count)]
    state = 12345
    for i, place in enumerate(places):
        for _ in range(3):
            state = (state * 1103515245 + 12345) % 2147483648
            other = places[state % count]
            place.roads.append((other, state % 97 + 1))
        place.roads.append((places[(i + 1) % count], 50))
    return places


def search(start):
    start.far = 0
    heap = [(0, 0, start)]
    order = 0
    while heap:
        far, _, place = heapq.heappop(heap)
        if far > place.far:
            continue
        for other, length in place.roads:
            if other.far is None or far + length < other.far:
                other.far = far + length
                order += 1
                heapq.heappush(heap, (other.far, order, other))


places = build(int(sys.argv[1]))
search(places[0])
print(len(places), sum(place.far for place in places))
