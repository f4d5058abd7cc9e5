/*
 * The front end of a web service: looks up a user's keys in a hash table, and sends an object of 8 KiB, compressed and
 * encrypted.
 *
 *     webservice [--megabytes N] [--requests N] [--threads N] [--zipf S]
 *
 * Of so much memory, 37 % are the hash table, which each request looks into 32 times, and the rest are the objects, of
 * which it needs one. Both follow a Zipf distribution. Prints a sum over all replies, and to standard error how many
 * requests were served in a second.
 */
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <getopt.h>
#include <memory>
#include <openssl/evp.h>
#include <snappy.h>
#include <string>
#include <thread>
#include <vector>

#include <farside.h>

#include "random.h"

/* Eviction priority of objects: they leave before the table does. */
#ifndef OBJECTS
#define OBJECTS 1
#endif

namespace {

constexpr int KEYS = 32;
constexpr size_t OBJECT = 8192;

/* A hash table of users with open addressing; what it knows of each lies elsewhere. */
class Users {
public:
    explicit Users(uint64_t users) : mask(1), entries(users) {
        while (mask < users * 4 / 3) mask = mask * 2 + 1;
        buckets.resize(mask + 1, NONE);
        for (uint64_t user = 0; user < users; user++) {
            entries[user] = {mix(user), uint32_t(mix(~user)), {}};
            uint64_t at = mix(user) & mask;
            while (buckets[at] != NONE) at = (at + 1) & mask;
            buckets[at] = user;
        }
    }

    uint32_t find(uint64_t key) const {
        for (uint64_t at = key & mask;; at = (at + 1) & mask) {
            farside_hint(&buckets[at]);
            const uint32_t user = buckets[at];
            if (user == NONE) return 0;
            farside_hint(&entries[user]);
            if (entries[user].key == key) return entries[user].object;
        }
    }

    static constexpr size_t bytes_of_one() { return sizeof(Entry) + 6; }

private:
    static constexpr uint32_t NONE = ~0u;

    struct Entry {
        uint64_t key;
        uint32_t object;
        char more[20];
    };

    uint64_t mask;
    std::vector<uint32_t> buckets;
    std::vector<Entry> entries;
};

struct alignas(4096) Object {
    char bytes[OBJECT];
};

/* Half of an object can be compressed. */
void fill(Object &object, uint64_t number) {
    for (size_t i = 0; i < OBJECT; i += 8) {
        const uint64_t word = i % 64 < 32 ? mix(number * OBJECT + i) : number;
        farside_hint(object.bytes + i, .mut = 1, .ahead = 64, .sequential = 1);
        memcpy(object.bytes + i, &word, 8);
    }
}

class Service {
public:
    Service(uint64_t users, uint64_t objects) : users(users), objects(objects) {
        for (uint64_t i = 0; i < objects; i++) fill(this->objects[i], i);
    }

    /* A reply, of which the sum is what is left. */
    uint64_t serve(uint64_t request, const Zipf &popularity, EVP_CIPHER_CTX *cipher) {
        uint64_t sum = 0, state = request;
        for (int i = 0; i < KEYS; i++) sum += users.find(mix(popularity.next(state)));
        const Object &object = objects[sum % objects.size()];
        farside_hint(&object, .size = sizeof object, .priority = OBJECTS);
        return sum + sealed(object, cipher);
    }

    uint64_t count() const { return objects.size(); }

private:
    static uint64_t sealed(const Object &object, EVP_CIPHER_CTX *cipher) {
        static const unsigned char key[32] = {1, 2, 3}, vector[16] = {4, 5, 6};
        static thread_local std::string small, secret;
        snappy::Compress(object.bytes, OBJECT, &small);
        secret.resize(small.size() + 16);
        int length = 0;
        auto *const into = reinterpret_cast<unsigned char *>(secret.data());
        if (!EVP_EncryptInit_ex(cipher, EVP_aes_256_ctr(), nullptr, key, vector) ||
            !EVP_EncryptUpdate(cipher, into, &length, reinterpret_cast<const unsigned char *>(small.data()),
                               int(small.size()))) {
            fputs("webservice: cannot encrypt\n", stderr);
            exit(1);
        }
        uint64_t sum = 0;
        for (int i = 0; i + 8 <= length; i += 8) {
            uint64_t word;
            memcpy(&word, into + i, 8);
            sum = sum * 3 + word;
        }
        return sum;
    }

    Users users;
    std::vector<Object> objects;
};

double number(const char *text, double least, double most) {
    char *end;
    const double number = strtod(text, &end);
    if (*end || !(number >= least && number <= most)) {
        fprintf(stderr, "webservice: %s is no number from %g to %g\n", text, least, most);
        exit(2);
    }
    return number;
}

}

int main(int argc, char **argv) {
    const option known[] = {{"megabytes", 1, 0, 'm'}, {"requests", 1, 0, 'r'}, {"threads", 1, 0, 't'},
                            {"zipf", 1, 0, 'z'}, {0, 0, 0, 0}};
    uint64_t bytes = 256 << 20, requests = 60'000;
    int threads = 2;
    double s = 0.8;
    for (int c; (c = getopt_long(argc, argv, "", known, 0)) != -1;) {
        switch (c) {
        case 'm': bytes = uint64_t(number(optarg, 1, 1 << 16)) << 20; break;
        case 'r': requests = number(optarg, 1, 1e12); break;
        case 't': threads = number(optarg, 1, 256); break;
        case 'z': s = number(optarg, 0, 4); break;
        default: return 2;
        }
    }
    const uint64_t users = bytes * 37 / 100 / Users::bytes_of_one(), objects = bytes * 63 / 100 / OBJECT;
    Service service(users, objects);
    const Zipf popularity(users, s);
    std::atomic<uint64_t> next{0}, sum{0};
    const auto begin = std::chrono::steady_clock::now();
    std::vector<std::thread> all;
    for (int i = 0; i < threads; i++) {
        all.emplace_back([&] {
            std::unique_ptr<EVP_CIPHER_CTX, void (*)(EVP_CIPHER_CTX *)> cipher(EVP_CIPHER_CTX_new(),
                                                                               EVP_CIPHER_CTX_free);
            uint64_t own = 0;
            for (uint64_t request; (request = next++) < requests;) {
                own += service.serve(mix(request + 1), popularity, cipher.get());
            }
            sum += own;
        });
    }
    for (auto &thread : all) thread.join();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    printf("%016llx\n", (unsigned long long)sum.load());
    fprintf(stderr, "%.4f s, %.0f requests/s\n", took.count(), requests / took.count());
    return 0;
}
