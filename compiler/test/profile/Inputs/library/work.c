long work(long count) {
  long sum = 0;
  for (long i = 0; i < count; i++)
    sum = sum * 31 + (i ^ sum >> 7);
  return sum;
}
