// Objects, strings, typed arrays and garbage, in V8's own heap.
'use strict';
const count = Number(process.argv[2]);
let state = 88172645;
function next() {
  state ^= state << 13;
  state ^= state >>> 17;
  state ^= state << 5;
  return state >>> 0;
}
const map = new Map();
for (let i = 0; i < count; i++) {
  const key = next() % (count / 4);
  map.set(key, { name: 'item ' + key, seen: i, tags: [i % 7, i % 11, String(next())] });
}
let sum = 0;
for (const [key, value] of map) sum = (sum * 31 + key + value.seen + value.tags[2].length) >>> 0;
console.log(map.size, sum);
const numbers = new Float64Array(count);
for (let i = 0; i < count; i++) numbers[i] = next() / 7;
numbers.sort();
console.log(numbers[0], numbers[count >> 1], numbers[count - 1]);
const buffer = Buffer.alloc(count * 8, 'far memory ');
console.log(require('crypto').createHash('sha256').update(buffer).digest('hex'));
const text = JSON.stringify([...map.values()].slice(0, count / 8));
console.log(text.length, JSON.parse(text).length);
