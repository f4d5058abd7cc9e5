// Layers of a transformer, each a call of the block in block.mlir, compared with the same in C. TOKENS, CHANNELS and
// HEADS are what the block was made for.
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifndef LAYERS
#define LAYERS 4
#endif
#define WIDE (4 * CHANNELS)
#define SIZE (CHANNELS / HEADS)

struct layer {
  float *scale1, *bias1, *attention, *attention_bias, *projection, *projection_bias;
  float *scale2, *bias2, *up, *up_bias, *down, *down_bias;
};

void block(const float *x, const float *scale1, const float *bias1, const float *attention, const float *attention_bias,
           const float *projection, const float *projection_bias, const float *scale2, const float *bias2,
           const float *up, const float *up_bias, const float *down, const float *down_bias, float *result);

static float *new_matrix(size_t count) { return malloc(count * sizeof(float)); }
static float *new_vector(size_t count) { return malloc(count * sizeof(float)); }
static float *new_state(size_t count) { return malloc(count * sizeof(float)); }

static void fill(float *values, size_t count, float middle, float reach, uint32_t *state) {
  for (size_t i = 0; i < count; i++) {
    *state = *state * 1664525 + 1013904223;
    values[i] = middle + reach * ((float)(*state >> 8) / 8388608 - 1);
  }
}

static struct layer new_layer(uint32_t seed) {
  struct layer layer = {
      new_vector(CHANNELS),        new_vector(CHANNELS),     new_matrix(CHANNELS * 3 * CHANNELS),
      new_vector(3 * CHANNELS),    new_matrix(CHANNELS * CHANNELS), new_vector(CHANNELS),
      new_vector(CHANNELS),        new_vector(CHANNELS),     new_matrix(CHANNELS * WIDE),
      new_vector(WIDE),            new_matrix(WIDE * CHANNELS),     new_vector(CHANNELS)};
  fill(layer.scale1, CHANNELS, 1, 0.1f, &seed);
  fill(layer.bias1, CHANNELS, 0, 0.1f, &seed);
  fill(layer.attention, CHANNELS * 3 * CHANNELS, 0, 0.05f, &seed);
  fill(layer.attention_bias, 3 * CHANNELS, 0, 0.1f, &seed);
  fill(layer.projection, CHANNELS * CHANNELS, 0, 0.05f, &seed);
  fill(layer.projection_bias, CHANNELS, 0, 0.1f, &seed);
  fill(layer.scale2, CHANNELS, 1, 0.1f, &seed);
  fill(layer.bias2, CHANNELS, 0, 0.1f, &seed);
  fill(layer.up, CHANNELS * WIDE, 0, 0.05f, &seed);
  fill(layer.up_bias, WIDE, 0, 0.1f, &seed);
  fill(layer.down, WIDE * CHANNELS, 0, 0.05f, &seed);
  fill(layer.down_bias, CHANNELS, 0, 0.1f, &seed);
  return layer;
}

#ifdef REFERENCE
static float normed[TOKENS * CHANNELS], qkv[TOKENS * 3 * CHANNELS], mixed[TOKENS * CHANNELS], wide[TOKENS * WIDE];
static float scores[TOKENS];

static void normalize(const float *x, const float *scale, const float *bias) {
  for (int t = 0; t < TOKENS; t++, x += CHANNELS) {
    float mean = 0, variance = 0;
    for (int i = 0; i < CHANNELS; i++) mean += x[i] / CHANNELS;
    for (int i = 0; i < CHANNELS; i++) variance += (x[i] - mean) * (x[i] - mean) / CHANNELS;
    for (int i = 0; i < CHANNELS; i++)
      normed[t * CHANNELS + i] = (x[i] - mean) / sqrtf(variance + 1e-5f) * scale[i] + bias[i];
  }
}

static void linear(float *out, const float *in, const float *weights, const float *bias, int from, int to) {
  for (int t = 0; t < TOKENS; t++)
    for (int j = 0; j < to; j++) {
      float sum = bias[j];
      for (int i = 0; i < from; i++) sum += in[t * from + i] * weights[i * to + j];
      out[t * to + j] = sum;
    }
}

static void attend(int t, int head) {
  const float *query = qkv + t * 3 * CHANNELS + head * SIZE;
  float most = -INFINITY, total = 0, *out = mixed + t * CHANNELS + head * SIZE;
  for (int other = 0; other <= t; other++) {
    const float *key = qkv + other * 3 * CHANNELS + CHANNELS + head * SIZE;
    scores[other] = 0;
    for (int i = 0; i < SIZE; i++) scores[other] += query[i] * key[i] / sqrtf(SIZE);
    most = fmaxf(most, scores[other]);
  }
  for (int other = 0; other <= t; other++) total += scores[other] = expf(scores[other] - most);
  for (int i = 0; i < SIZE; i++) {
    out[i] = 0;
    for (int other = 0; other <= t; other++)
      out[i] += scores[other] / total * qkv[other * 3 * CHANNELS + 2 * CHANNELS + head * SIZE + i];
  }
}

static void reference(const float *x, const struct layer *layer, float *result) {
  normalize(x, layer->scale1, layer->bias1);
  linear(qkv, normed, layer->attention, layer->attention_bias, CHANNELS, 3 * CHANNELS);
  for (int t = 0; t < TOKENS; t++)
    for (int head = 0; head < HEADS; head++) attend(t, head);
  linear(result, mixed, layer->projection, layer->projection_bias, CHANNELS, CHANNELS);
  for (int i = 0; i < TOKENS * CHANNELS; i++) result[i] += x[i];
  normalize(result, layer->scale2, layer->bias2);
  linear(wide, normed, layer->up, layer->up_bias, CHANNELS, WIDE);
  for (int i = 0; i < TOKENS * WIDE; i++) {
    const float v = wide[i];
    wide[i] = 0.5f * v * (1 + tanhf(0.7978845608f * (v + 0.044715f * v * v * v)));
  }
  linear(normed, wide, layer->down, layer->down_bias, WIDE, CHANNELS);
  for (int i = 0; i < TOKENS * CHANNELS; i++) result[i] += normed[i];
}

static float expected[TOKENS * CHANNELS], given[TOKENS * CHANNELS];

/// How far what the block made is from what C makes of the same.
static float compare(const float *x, const struct layer *layer, const float *result) {
  float most = 0;
  for (int i = 0; i < TOKENS * CHANNELS; i++) given[i] = x[i];
  reference(given, layer, expected);
  for (int i = 0; i < TOKENS * CHANNELS; i++) most = fmaxf(most, fabsf(expected[i] - result[i]));
  return most;
}
#endif

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + time.tv_nsec * 1e-9;
}

/// An argument says how often all layers are gone through; how long that takes goes to stderr.
int main(int count, char **arguments) {
  static struct layer layers[LAYERS];
  float *x = new_state(TOKENS * CHANNELS), *y = new_state(TOKENS * CHANNELS);
  uint32_t seed = 1;
  for (int i = 0; i < LAYERS; i++) layers[i] = new_layer(100 * i + 7);
  fill(x, TOKENS * CHANNELS, 0, 1, &seed);
  const int passes = count > 1 ? atoi(arguments[1]) : 1;
  const double start = now();
  for (int i = 0; i < LAYERS * passes; i++) {
    const struct layer *l = &layers[i % LAYERS];
    block(x, l->scale1, l->bias1, l->attention, l->attention_bias, l->projection, l->projection_bias, l->scale2,
          l->bias2, l->up, l->up_bias, l->down, l->down_bias, y);
#ifdef REFERENCE
    const float most = compare(x, l, y);
    if (!(most < 1e-3f)) printf("layer %d: %g away from what C makes of it\n", i, most);
#endif
    float *other = x;
    x = y, y = other;
  }
  if (count > 1) fprintf(stderr, "%.4f s\n", now() - start);
  double sum = 0;
  for (int i = 0; i < TOKENS * CHANNELS; i++) sum += x[i] * (double)(i % 7 + 1);
  printf("%.17g\n", sum);
  return 0;
}
