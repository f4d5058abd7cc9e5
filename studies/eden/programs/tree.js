// A search tree of objects, filled, searched and thinned out.
'use strict';
const count = Number(process.argv[2]);
let state = 88172645;
function next() {
  state ^= state << 13;
  state ^= state >>> 17;
  state ^= state << 5;
  return state >>> 0;
}
let root = null;
function insert(key) {
  const node = { key, left: null, right: null, tag: 'item ' + (key % 1000) };
  if (root === null) { root = node; return; }
  let at = root;
  for (;;) {
    const side = key < at.key ? 'left' : 'right';
    if (at[side] === null) { at[side] = node; return; }
    at = at[side];
  }
}
for (let i = 0; i < count; i++) insert(next());
let found = 0;
for (let i = 0; i < count; i++) {
  const key = next();
  let at = root;
  while (at !== null && at.key !== key) at = key < at.key ? at.left : at.right;
  if (at !== null) found++;
}
let sum = 0;
const stack = [root];
while (stack.length > 0) {
  const node = stack.pop();
  sum = (sum * 31 + node.key + node.tag.length) >>> 0;
  if (node.left !== null) stack.push(node.left);
  if (node.right !== null) stack.push(node.right);
}
console.log(found, sum);
