#!/usr/bin/env python3
"""Prints a transformer block as tensor compilers export it: block.py TOKENS CHANNELS HEADS."""
import sys

TOKENS, CHANNELS, HEADS = map(int, sys.argv[1:])
SIZE = CHANNELS // HEADS


def tensor(*shape):
    return f"tensor<{'x'.join(map(str, shape))}xf32>"


class Block:
    """The body of a function, one operation after another."""

    def __init__(self):
        self.lines, self.count = [], 0

    def add(self, text):
        name = f"%{self.count}"
        self.count += 1
        self.lines.append(f"  {name} = {text}")
        return name

    def constant(self, value):
        return self.add(f"arith.constant {value:e} : f32")

    def empty(self, shape):
        return self.add(f"tensor.empty() : {tensor(*shape)}")

    def filled(self, shape, value):
        init = self.empty(shape)
        return self.add(f"linalg.fill ins({value} : f32) outs({init} : {tensor(*shape)}) -> {tensor(*shape)}")

    def generic(self, loops, reduced, inputs, init, shape, body):
        """Inputs are (value, shape, indices); the body has %in0, %in1 ... and %out, and yields %y."""
        names = ", ".join(f"d{i}" for i in range(loops))
        last = range(loops - reduced)
        maps = ", ".join(f"affine_map<({names}) -> ({', '.join(f'd{i}' for i in indices)})>"
                         for indices in [each[2] for each in inputs] + [last])
        kinds = ", ".join(["\"parallel\""] * (loops - reduced) + ["\"reduction\""] * reduced)
        values, types = ", ".join(each[0] for each in inputs), ", ".join(tensor(*each[1]) for each in inputs)
        arguments = "".join(f"%in{i}: f32, " for i in range(len(inputs)))
        self.lines.append(f"  %{self.count} = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}")
        self.lines.append(f"      ins({values} : {types}) outs({init} : {tensor(*shape)}) {{")
        self.lines.append(f"  ^bb0({arguments}%out: f32):")
        self.lines += [f"    {line}" for line in body]
        self.lines.append("    linalg.yield %y : f32")
        self.lines.append(f"  }} -> {tensor(*shape)}")
        self.count += 1
        return f"%{self.count - 1}"

    def each(self, shape, inputs, body):
        """Of all elements."""
        return self.generic(len(shape), 0, inputs, self.empty(shape), shape, body)

    def reduce(self, shape, value, start, body):
        """Over the last dimension."""
        outer = shape[:-1]
        init = self.filled(outer, self.constant(start))
        return self.generic(len(shape), 1, [(value, shape, range(len(shape)))], init, outer, body)


def matmul(block, a, b, rows, inner, columns):
    init = block.filled((rows, columns), block.constant(0))
    return block.add(f"linalg.matmul ins({a}, {b} : {tensor(rows, inner)}, {tensor(inner, columns)}) "
                     f"outs({init} : {tensor(rows, columns)}) -> {tensor(rows, columns)}")


def norm(block, x, scale, bias):
    shape, rows = (TOKENS, CHANNELS), (TOKENS,)
    count, small = block.constant(CHANNELS), block.constant(1e-5)
    total = block.reduce(shape, x, 0, ["%y = arith.addf %in0, %out : f32"])
    centred = block.each(shape, [(x, shape, (0, 1)), (total, rows, (0,))],
                         [f"%m = arith.divf %in1, {count} : f32", "%y = arith.subf %in0, %m : f32"])
    squares = block.reduce(shape, centred, 0, ["%s = arith.mulf %in0, %in0 : f32", "%y = arith.addf %s, %out : f32"])
    factor = block.each(rows, [(squares, rows, (0,))],
                        [f"%v = arith.divf %in0, {count} : f32", f"%e = arith.addf %v, {small} : f32",
                         "%y = math.rsqrt %e : f32"])
    return block.each(shape, [(centred, shape, (0, 1)), (factor, rows, (0,)), (scale, (CHANNELS,), (1,)),
                              (bias, (CHANNELS,), (1,))],
                      ["%n = arith.mulf %in0, %in1 : f32", "%w = arith.mulf %n, %in2 : f32",
                       "%y = arith.addf %w, %in3 : f32"])


def linear(block, x, weights, bias, inner, columns):
    product = matmul(block, x, weights, TOKENS, inner, columns)
    shape = (TOKENS, columns)
    return block.each(shape, [(product, shape, (0, 1)), (bias, (columns,), (1,))], ["%y = arith.addf %in0, %in1 : f32"])


def head(block, qkv, which):
    """Queries, keys or values, head by head."""
    part = block.add(f"tensor.extract_slice {qkv}[0, {which * CHANNELS}] [{TOKENS}, {CHANNELS}] [1, 1] : "
                     f"{tensor(TOKENS, 3 * CHANNELS)} to {tensor(TOKENS, CHANNELS)}")
    split = block.add(f"tensor.expand_shape {part} [[0], [1, 2]] output_shape [{TOKENS}, {HEADS}, {SIZE}] : "
                      f"{tensor(TOKENS, CHANNELS)} into {tensor(TOKENS, HEADS, SIZE)}")
    shape = (HEADS, TOKENS, SIZE)
    init = block.empty(shape)
    return block.add(f"linalg.transpose ins({split} : {tensor(TOKENS, HEADS, SIZE)}) outs({init} : {tensor(*shape)}) "
                     "permutation = [1, 0, 2]")


def softmax(block, scores, shape):
    rows, all_, each = shape[:-1], (0, 1, 2), (0, 1)
    most = block.reduce(shape, scores, -3e38, ["%y = arith.maximumf %in0, %out : f32"])
    powers = block.each(shape, [(scores, shape, all_), (most, rows, each)],
                        ["%d = arith.subf %in0, %in1 : f32", "%y = math.exp %d : f32"])
    total = block.reduce(shape, powers, 0, ["%y = arith.addf %in0, %out : f32"])
    return block.each(shape, [(powers, shape, all_), (total, rows, each)], ["%y = arith.divf %in0, %in1 : f32"])


def attention(block, qkv):
    q, k, v = (head(block, qkv, which) for which in range(3))
    heads, scores = (HEADS, TOKENS, SIZE), (HEADS, TOKENS, TOKENS)
    zero, scale, never = block.constant(0), block.constant(SIZE ** -0.5), block.constant(-1e30)
    product = block.generic(4, 1, [(q, heads, (0, 1, 3)), (k, heads, (0, 2, 3))], block.filled(scores, zero), scores,
                            ["%p = arith.mulf %in0, %in1 : f32", "%y = arith.addf %p, %out : f32"])
    masked = block.each(scores, [(product, scores, (0, 1, 2))],
                        ["%i = linalg.index 1 : index", "%j = linalg.index 2 : index",
                         "%c = arith.cmpi ule, %j, %i : index", f"%s = arith.mulf %in0, {scale} : f32",
                         f"%y = arith.select %c, %s, {never} : f32"])
    shares = softmax(block, masked, scores)
    mixed = block.add(f"linalg.batch_matmul ins({shares}, {v} : {tensor(*scores)}, {tensor(*heads)}) "
                      f"outs({block.filled(heads, zero)} : {tensor(*heads)}) -> {tensor(*heads)}")
    init = block.empty((TOKENS, HEADS, SIZE))
    back = block.add(f"linalg.transpose ins({mixed} : {tensor(*heads)}) outs({init} : {tensor(TOKENS, HEADS, SIZE)}) "
                     "permutation = [1, 0, 2]")
    return block.add(f"tensor.collapse_shape {back} [[0], [1, 2]] : {tensor(TOKENS, HEADS, SIZE)} into "
                     f"{tensor(TOKENS, CHANNELS)}")


def gelu(block, x, shape):
    half, one = block.constant(0.5), block.constant(1)
    cubic, root = block.constant(0.044715), block.constant(0.7978845608)
    return block.each(shape, [(x, shape, (0, 1))],
                      ["%a = arith.mulf %in0, %in0 : f32", "%b = arith.mulf %a, %in0 : f32",
                       f"%c = arith.mulf %b, {cubic} : f32", "%d = arith.addf %in0, %c : f32",
                       f"%e = arith.mulf %d, {root} : f32", "%f = math.tanh %e : f32",
                       f"%g = arith.addf %f, {one} : f32", f"%h = arith.mulf %in0, {half} : f32",
                       "%y = arith.mulf %h, %g : f32"])


def add(block, one, other):
    shape = (TOKENS, CHANNELS)
    return block.each(shape, [(one, shape, (0, 1)), (other, shape, (0, 1))], ["%y = arith.addf %in0, %in1 : f32"])


def main():
    c, wide = CHANNELS, 4 * CHANNELS
    arguments = [("x", (TOKENS, c)), ("scale1", (c,)), ("bias1", (c,)), ("attention", (c, 3 * c)),
                 ("attention_bias", (3 * c,)), ("projection", (c, c)), ("projection_bias", (c,)), ("scale2", (c,)),
                 ("bias2", (c,)), ("up", (c, wide)), ("up_bias", (wide,)), ("down", (wide, c)), ("down_bias", (c,))]
    block = Block()
    qkv = linear(block, norm(block, "%x", "%scale1", "%bias1"), "%attention", "%attention_bias", c, 3 * c)
    x = add(block, "%x", linear(block, attention(block, qkv), "%projection", "%projection_bias", c, c))
    up = linear(block, norm(block, x, "%scale2", "%bias2"), "%up", "%up_bias", c, wide)
    down = linear(block, gelu(block, up, (TOKENS, wide)), "%down", "%down_bias", wide, c)
    result = add(block, x, down)
    given = ", ".join(f"%{name}: {tensor(*shape)}" for name, shape in arguments)
    print(f"func.func @block({given}) -> {tensor(TOKENS, c)} {{")
    print("\n".join(block.lines))
    print(f"  return {result} : {tensor(TOKENS, c)}\n}}")


main()
