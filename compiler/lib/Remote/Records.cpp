#include "Records.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace farside {
namespace {

/// What is gathered in more pieces costs more than it spares.
constexpr size_t mostFields = 8;
/// The part of a record that is used at most.
constexpr uint64_t leastShare = 2;

uint64_t modulusOf(const Touch &touch, uint64_t longest) {
  return touch.offset.modulus ? std::min(touch.offset.modulus, longest) : longest;
}

BitVector used(ArrayRef<Touch> touches, uint64_t record) {
  BitVector bytes(record);
  for (const Touch &touch : touches) {
    uint64_t step = modulusOf(touch, record);
    if (!touch.size || touch.size >= step) {
      bytes.set();
      break;
    }
    for (uint64_t first = touch.offset.bytes & (step - 1); first < record; first += step)
      for (uint64_t byte = first; byte < first + touch.size; ++byte)
        bytes.set(byte & (record - 1));
  }
  return bytes;
}

void joinClosest(SmallVectorImpl<std::pair<uint32_t, uint32_t>> &fields) {
  auto gap = [&](size_t number) { return fields[number + 1].first - fields[number].first - fields[number].second; };
  size_t closest = 0;
  for (size_t number = 1; number + 1 < fields.size(); ++number)
    if (gap(number) < gap(closest))
      closest = number;
  fields[closest].second = fields[closest + 1].first + fields[closest + 1].second - fields[closest].first;
  fields.erase(fields.begin() + closest + 1);
}

/// What of records of so many bytes is used.
Records divided(ArrayRef<Touch> touches, uint64_t length) {
  Records records;
  records.length = length;
  BitVector bytes = used(touches, length);
  for (int first = bytes.find_first(); first >= 0;) {
    int end = bytes.find_next_unset(first);
    end = end < 0 ? int(length) : end;
    records.fields.emplace_back(first, end - first);
    first = end < int(length) ? bytes.find_next(end) : -1;
  }
  while (records.fields.size() > mostFields)
    joinClosest(records.fields);
  return records;
}

uint64_t sumOf(const Records &records) {
  uint64_t sum = 0;
  for (auto [start, size] : records.fields)
    sum += size;
  return sum;
}

} // namespace

Records recordsOf(ArrayRef<Touch> touches, uint64_t longest) {
  uint64_t most = 1;
  for (const Touch &touch : touches)
    most = std::max(most, modulusOf(touch, longest));
  // Of records that are part of longer ones the same share may be used; then they are what there is.
  Records best = divided(touches, 1);
  for (uint64_t length = 2; length <= most; length *= 2)
    if (Records other = divided(touches, length); sumOf(other) * best.length < sumOf(best) * length)
      best = std::move(other);
  if (sumOf(best) * leastShare > best.length)
    best.why = "more than half of each record is used";
  return best;
}

} // namespace farside
