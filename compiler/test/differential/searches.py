"""Statements that look for something within loops, and that come to one array or another."""

from jumps import indented


class Searches:
    def probe(self, scope):
        """A loop over an array, in each turn of which another is looked into from a place on that depends on the first."""
        one, other = self.some(scope), self.some(scope)
        if not one or scope.times * 300 > self.mostTimes:
            return None
        random, turn, at, left = self.random, self.fresh("i"), self.fresh("o"), self.fresh("w")
        inner = scope.inner(times=scope.times * 100, turns={turn: one.length})
        key = self.leaf(inner, one, 0)
        part = self.part(other.type)
        if not key or not part:
            return None
        suffix, scalar = part
        found = scalar.read(f"{other.name}[{at} % {other.count()}]{suffix}")
        limit, stop = random.choice([1, 3, 9]), random.choice([2, 3, 5])
        lines = [f"u64 {at} = ({key[1].read(key[0])} * {random.choice([1, 31, 0x9e3779b97f4a7c15])}ul) % {other.count()};",
                 f"unsigned {left} = {limit};"]
        if random.random() < 0.5:
            lines += [f"while ({left} && {found} % {stop} != 0) {{ {at}++; {left}--; }}"]
        else:
            lines += [f"for (;; {at}++) {{ if ({found} % {stop} == 0 || !{left}--) break; }}"]
        lines += [f"h = mix(h, {at});"]
        if random.random() < 0.5:
            lines += [self.assignment(inner, f"{other.name}[{at} % {other.count()}]{suffix}", scalar, 1)]
        if random.random() < 0.4:
            lines += self.assign(inner) or []
        return [f"for (u64 {turn} = 0; {turn} < {one.length}; {turn}++) {{"] + indented(lines) + ["}"]

    def byWay(self, scope):
        """The same is read or written in one of two arrays."""
        one = self.some(scope)
        other = one and self.some(scope, lambda array: array.type is one.type and array is not one)
        kind = self.random.random()
        part = other and self.part(one.type, addressable=kind >= 0.7)
        if not part:
            return None
        suffix, scalar = part
        here = f"{one.name}[{self.index(scope, one)}]{suffix}"
        there = f"{other.name}[{self.index(scope, other)}]{suffix}"
        condition = self.condition(scope)
        if kind < 0.4:
            return [f"if ({condition}) {here} = {scalar.write(self.number(scope, 1))};",
                    f"else {there} = {scalar.write(self.number(scope, 1))};"]
        if kind < 0.7:
            return [f"h = mix(h, {condition} ? {scalar.read(here)} : {scalar.read(there)});"]
        return [f"*({condition} ? &{here} : &{there}) = {scalar.write(self.number(scope, 1))};"]
