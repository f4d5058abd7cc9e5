"""Statements that go elsewhere in a function: forward, back, and into loops."""


def indented(lines):
    return ["  " + line for line in lines]


class Jumps:
    """What Statements has of them. What is jumped over declares nothing outside of braces, as C++ has it."""

    def skip(self, scope):
        label = self.fresh("out")
        return [f"if ({self.condition(scope)}) goto {label};", "{"] + indented(
            self.block(scope.inner(), self.random.randint(1, 2))) + ["}", f"{label}: h++;"]

    def again(self, scope):
        """What is done again some times, from somewhere behind it."""
        label, left = self.fresh("again"), self.fresh("w")
        if scope.times * 4 > self.mostTimes:
            return None
        inner = scope.inner(times=scope.times * 4, inLoop=False)
        return ["{", f"  u64 {left} = {self.random.randint(1, 3)};", f"{label}: h++;", "  {"] + indented(indented(
            self.block(inner, self.random.randint(1, 2)))) + ["  }",
            f"  if ({self.condition(scope)} && {left}-- > 0) goto {label};", "}"]

    def enter(self, scope):
        """A loop that may begin in the middle of its first turn."""
        array = self.some(scope)
        if not array or scope.times * 100 > self.mostTimes:
            return None
        label, turn = self.fresh("in"), self.fresh("i")
        inner = scope.inner(times=scope.times * 100, inLoop=True, turns={turn: array.length})
        # What is in the loop is not there when it is come to in this way.
        parts = [indented(self.block(inner, 1)) for _ in range(2)]
        return ["{", f"  u64 {turn} = 0;", f"  if ({self.condition(scope)}) goto {label};",
                f"  for (; {turn} < {array.length}; {turn}++) {{", "    {", *indented(indented(parts[0])), "    }",
                f"{label}: h++;", "    {", *indented(indented(parts[1])), "    }", "  }", "}"]
