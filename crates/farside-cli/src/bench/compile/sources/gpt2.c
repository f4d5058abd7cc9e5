/*
 * A forward pass of GPT-2 with weights made up: gpt2 LAYERS HEADS CHANNELS WORDS TOKENS PASSES. The one of 124 million
 * weights has 12 layers, 12 heads, 768 channels and 50257 words.
 */
#include <math.h>
#include <string.h>

#include "measured.h"

struct shape {
    long layers, heads, channels, words, tokens;
};

/* Weights of a layer; matrices are kept by rows, one for each number that comes in. */
struct layer {
    float *norm1, *attention, *attention_bias, *projection, *projection_bias;
    float *norm2, *up, *up_bias, *down, *down_bias;
};

struct model {
    struct shape shape;
    float *words, *positions, *norm;
    struct layer *layers;
};

/* What is computed on the way. */
struct state {
    float *x, *normed, *qkv, *mixed, *wide, *scores, *logits;
};

static float *new_weights(long count, float scale, uint64_t seed) {
    float *weights = there(malloc(count * sizeof(float)));
    uint64_t state = seed;
    for (long i = 0; i < count; i++) weights[i] = ((float)(draw(&state) >> 40) / 8388608 - 1) * scale;
    return weights;
}

static float *new_activations(long count) {
    return there(calloc(count, sizeof(float)));
}

static struct model new_model(struct shape shape) {
    const long c = shape.channels;
    const float scale = 0.05f;
    struct model model = {shape, new_weights(shape.words * c, scale, 1), new_weights(shape.tokens * c, scale, 2),
                          new_weights(2 * c, 1, 3), there(malloc(shape.layers * sizeof(struct layer)))};
    for (long i = 0; i < shape.layers; i++) {
        const uint64_t seed = 100 + 10 * (uint64_t)i;
        struct layer *layer = &model.layers[i];
        layer->norm1 = new_weights(2 * c, 1, seed);
        layer->attention = new_weights(c * 3 * c, scale, seed + 1);
        layer->attention_bias = new_weights(3 * c, scale, seed + 2);
        layer->projection = new_weights(c * c, scale, seed + 3);
        layer->projection_bias = new_weights(c, scale, seed + 4);
        layer->norm2 = new_weights(2 * c, 1, seed + 5);
        layer->up = new_weights(c * 4 * c, scale, seed + 6);
        layer->up_bias = new_weights(4 * c, scale, seed + 7);
        layer->down = new_weights(4 * c * c, scale, seed + 8);
        layer->down_bias = new_weights(c, scale, seed + 9);
    }
    return model;
}

static struct state new_state(struct shape shape) {
    const long all = shape.tokens * shape.channels;
    struct state state = {new_activations(all),     new_activations(all),          new_activations(3 * all),
                          new_activations(all),     new_activations(4 * all),      new_activations(shape.tokens),
                          new_activations(shape.words)};
    return state;
}

static void embed(float *x, const struct model *model, const int *tokens) {
    const long c = model->shape.channels;
    for (long t = 0; t < model->shape.tokens; t++)
        for (long i = 0; i < c; i++) x[t * c + i] = model->words[tokens[t] * c + i] + model->positions[t * c + i];
}

static void normalize(float *out, const float *in, const float *weights, long tokens, long c) {
    for (long t = 0; t < tokens; t++) {
        float mean = 0, variance = 0;
        for (long i = 0; i < c; i++) mean += in[t * c + i];
        mean /= (float)c;
        for (long i = 0; i < c; i++) variance += (in[t * c + i] - mean) * (in[t * c + i] - mean);
        const float factor = 1 / sqrtf(variance / (float)c + 1e-5f);
        for (long i = 0; i < c; i++) out[t * c + i] = (in[t * c + i] - mean) * factor * weights[i] + weights[c + i];
    }
}

/* Each row of the matrix is gone through once for all tokens. */
static void multiply(float *out, const float *in, const float *matrix, const float *bias, long tokens, long from,
                     long to) {
    for (long t = 0; t < tokens; t++)
        for (long j = 0; j < to; j++) out[t * to + j] = bias[j];
    for (long i = 0; i < from; i++)
        for (long t = 0; t < tokens; t++) {
            const float factor = in[t * from + i];
            if (t == 0) HINT(&matrix[i * to], .size = (size_t)to * sizeof *matrix, .ahead = 64, .sequential = 1);
            for (long j = 0; j < to; j++) out[t * to + j] += factor * matrix[i * to + j];
        }
}

static void softmax(float *scores, long count) {
    float most = scores[0], sum = 0;
    for (long i = 1; i < count; i++) most = scores[i] > most ? scores[i] : most;
    for (long i = 0; i < count; i++) {
        scores[i] = expf(scores[i] - most);
        sum += scores[i];
    }
    for (long i = 0; i < count; i++) scores[i] /= sum;
}

/* What one head makes of the tokens up to `t`. */
static void attend(struct state *state, long t, long head, long size, long c) {
    const float *query = state->qkv + t * 3 * c + head * size, scale = 1 / sqrtf((float)size);
    float *out = state->mixed + t * c + head * size;
    for (long other = 0; other <= t; other++) {
        const float *key = state->qkv + other * 3 * c + c + head * size;
        float sum = 0;
        for (long i = 0; i < size; i++) sum += query[i] * key[i];
        state->scores[other] = sum * scale;
    }
    softmax(state->scores, t + 1);
    for (long i = 0; i < size; i++) out[i] = 0;
    for (long other = 0; other <= t; other++) {
        const float *value = state->qkv + other * 3 * c + 2 * c + head * size, share = state->scores[other];
        for (long i = 0; i < size; i++) out[i] += share * value[i];
    }
}

static void attention(struct state *state, const struct shape *shape) {
    const long size = shape->channels / shape->heads;
    for (long t = 0; t < shape->tokens; t++)
        for (long head = 0; head < shape->heads; head++) attend(state, t, head, size, shape->channels);
}

static void gelu(float *x, long count) {
    for (long i = 0; i < count; i++) {
        const float cube = 0.044715f * x[i] * x[i] * x[i];
        x[i] = 0.5f * x[i] * (1 + tanhf(0.7978845608f * (x[i] + cube)));
    }
}

static void add(float *x, const float *more, long count) {
    for (long i = 0; i < count; i++) x[i] += more[i];
}

/* Of the last token only. */
static void compute_logits(struct state *state, const struct model *model) {
    const long c = model->shape.channels;
    const float *last = state->normed + (model->shape.tokens - 1) * c;
    for (long word = 0; word < model->shape.words; word++) {
        float sum = 0;
        HINT(&model->words[word * c], .size = (size_t)c * sizeof *last, .ahead = 64, .sequential = 1);
        for (long i = 0; i < c; i++) sum += last[i] * model->words[word * c + i];
        state->logits[word] = sum;
    }
}

static void forward(struct state *state, const struct model *model, const int *tokens) {
    const struct shape *shape = &model->shape;
    const long t = shape->tokens, c = shape->channels;
    embed(state->x, model, tokens);
    for (long i = 0; i < shape->layers; i++) {
        const struct layer *layer = &model->layers[i];
        normalize(state->normed, state->x, layer->norm1, t, c);
        multiply(state->qkv, state->normed, layer->attention, layer->attention_bias, t, c, 3 * c);
        attention(state, shape);
        multiply(state->normed, state->mixed, layer->projection, layer->projection_bias, t, c, c);
        add(state->x, state->normed, t * c);
        normalize(state->normed, state->x, layer->norm2, t, c);
        multiply(state->wide, state->normed, layer->up, layer->up_bias, t, c, 4 * c);
        gelu(state->wide, t * 4 * c);
        multiply(state->normed, state->wide, layer->down, layer->down_bias, t, 4 * c, c);
        add(state->x, state->normed, t * c);
    }
    normalize(state->normed, state->x, model->norm, t, c);
    compute_logits(state, model);
}

static void print(const float *logits, long words) {
    long best = 0;
    double sum = 0;
    for (long i = 0; i < words; i++) {
        if (logits[i] > logits[best]) best = i;
        sum += logits[i];
    }
    printf("word %ld: %.6f, sum %.6f\n", best, (double)logits[best], sum);
}

int main(int argc, char **argv) {
    struct shape shape = {argument(argc, argv, 1, 12), argument(argc, argv, 2, 12), argument(argc, argv, 3, 768),
                          argument(argc, argv, 4, 50257), argument(argc, argv, 5, 256)};
    long passes = argument(argc, argv, 6, 1);
    struct model model = new_model(shape);
    struct state state = new_state(shape);
    int *tokens = there(malloc(shape.tokens * sizeof *tokens));
    uint64_t seed = 7;
    for (long t = 0; t < shape.tokens; t++) tokens[t] = (int)(draw(&seed) % (uint64_t)shape.words);
    double begin = now();
    for (long pass = 0; pass < passes; pass++) forward(&state, &model, tokens);
    took(begin);
    print(state.logits, shape.words);
    return 0;
}
