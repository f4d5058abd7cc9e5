"""Statements that add rows of arrays to the same elements again and again, as products of matrices do."""

from jumps import indented


class Products:
    def product(self, scope):
        """Each row of an array is added to another, once or once for each of several parts of it, times something."""
        out, rows, factors = self.some(scope), self.some(scope), self.some(scope)
        if not out or scope.times * 300 > self.mostTimes:
            return None
        # One place of all that the elements have: another one would often not be defined to be read.
        places = [self.part(array.type) for array in (out, rows, factors)]
        if not all(places):
            return None
        random = self.random
        (to, sum), (of, value), (at, factor) = places
        wide, many, parts, i, t, j = (self.fresh(prefix) for prefix in ("w", "m", "n", "i", "t", "j"))
        # One part alone is no loop; of how many is not known, or they would be none either.
        isOne = random.random() < 0.4
        # Rows may overlap, or leave some out.
        way = random.choice([wide] * 6 + [f"({wide} / 2)"])
        lines = [f"const u64 {parts} = {1 if isOne else f'1 + {self.unforeseen(scope, 0)} % 3'};",
                 f"const u64 {wide} = smaller({out.count()} / {parts}, "
                 f"{self.unforeseen(scope, 0)} % {random.choice([7, 40])});",
                 f"const u64 {many} = smaller({wide} ? {rows.count()} / {wide} : 3, "
                 f"smaller({factors.count()} / {parts}, {random.choice([3, 9, 18])}));"]
        element, added = f"{out.name}[{t} * {way} + {j}]{to}", f"{rows.name}[{i} * {wide} + {j}]{of}"
        times = random.choice([factor.read(f"{factors.name}[{t} * {many} + {i}]{at}"), f"({i} + 1)",
                               self.simple(scope)])
        more = f"({value.read(added)} {random.choice(['*', '^', '+'])} {times})"
        if sum.isFloat:
            body = f"{element} = {element} * ({sum.c})0.5 + {sum.write(more)};"
        else:
            result = f"{sum.read(element)} {random.choice(['+', '^', '*'])} {more}"
            body = f"{element} = {sum.write(result)};"
        loop = [f"for (u64 {j} = 0; {j} < {wide}; {j}++) {body}"]
        around = [f"const u64 {t} = 0;"] if isOne else [f"for (u64 {t} = 0; {t} < {parts}; {t}++)"]
        lines += [f"for (u64 {i} = 0; {i} < {many}; {i}++) {{"] + indented(around + loop) + ["}"]
        return ["{"] + indented(lines) + ["}"]
