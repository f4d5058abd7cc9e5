/*
 * A key-value server whose requests are served by fibers: while what one of them needs is far, others run.
 *
 *     kvserver [--items N] [--requests N] [--fibers N] [--zipf S] [--blocking]
 *
 * Fills a hash table with N items of 24 bytes of key and 512 of value, and serves requests that a client process sends
 * through a socket, some on their way at any time; their keys follow a Zipf distribution. Prints a sum over all
 * replies, and to standard error how long serving took. With --blocking nothing runs while a fiber waits.
 */
#include <boost/fiber/all.hpp>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <getopt.h>
#include <memory>
#include <string>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <farside/fibers.hpp>

#include "random.h"

namespace {

struct Options {
    uint64_t items = 400'000;
    uint64_t requests = 400'000;
    int fibers = 64;
    double zipf = 1.0;
    bool blocking = false;
};

struct Key {
    char text[24];
    explicit Key(uint64_t number) { snprintf(text, sizeof text, "key:%016llx", (unsigned long long)number); }
    Key() = default;
};

struct Item {
    Item *next;
    uint64_t hash;
    Key key;
    char value[512];
};

struct Reply {
    uint64_t sum = 0;
};

/* A hash table with chains, as memcached's. */
class Table {
public:
    explicit Table(uint64_t items) : mask(1) {
        while (mask < items) mask = mask * 2 + 1;
        buckets.reset(new Item *[mask + 1]());
        for (uint64_t number = 0; number < items; number++) insert(number);
    }

    const Item *find(const Key &key) const {
        const uint64_t hash = hash_of(key);
        const Item *const *bucket = &buckets[hash & mask];
        farside_hint(bucket);
        const Item *item = *bucket;
        while (item) {
            farside_hint(item, .size = sizeof *item);
            if (item->hash == hash && !memcmp(&item->key, &key, sizeof key)) return item;
            item = item->next;
        }
        return nullptr;
    }

private:
    static uint64_t hash_of(const Key &key) {
        uint64_t hash = 7;
        for (size_t i = 0; i < sizeof key; i += 8) {
            uint64_t word;
            memcpy(&word, key.text + i, 8);
            hash = mix(hash ^ word);
        }
        return hash;
    }

    void insert(uint64_t number) {
        Item *item = new Item;
        item->key = Key(number);
        item->hash = hash_of(item->key);
        for (size_t i = 0; i < sizeof item->value; i += 8) {
            const uint64_t word = mix(number * 64 + i);
            memcpy(item->value + i, &word, 8);
        }
        Item *&bucket = buckets[item->hash & mask];
        item->next = bucket;
        bucket = item;
    }

    uint64_t mask;
    std::unique_ptr<Item *[]> buckets;
};

[[noreturn]] void fail(const char *what) {
    perror(what);
    exit(1);
}

/* As many messages as are there, at least one; 0 at the end, and -1 if there is none and nobody is to wait. */
ssize_t receive(int socket, void *into, size_t size, size_t most, bool waits) {
    size_t got = 0;
    do {
        const int flags = waits || got > 0 ? 0 : MSG_DONTWAIT;
        const ssize_t more = recv(socket, static_cast<char *>(into) + got, size * most - got, flags);
        if (more < 0 && errno == EAGAIN) return -1;
        if (more < 0) fail("recv");
        if (more == 0) return 0;
        got += more;
    } while (got % size);
    return got / size;
}

void send(int socket, const void *from, size_t bytes) {
    const char *at = static_cast<const char *>(from);
    while (bytes > 0) {
        const ssize_t sent = write(socket, at, bytes);
        if (sent < 0) fail("write");
        at += sent;
        bytes -= sent;
    }
}

/* The client: WINDOW requests are on their way at any time. */
enum { WINDOW = 512, BLOCK = 128 };

[[noreturn]] void client(int socket, const Options &options) {
    const Zipf zipf(options.items, options.zipf);
    uint64_t state = 1, sent = 0, received = 0, sum = 0;
    std::vector<Key> keys(BLOCK);
    std::vector<Reply> replies(WINDOW);
    while (received < options.requests) {
        while (sent < options.requests && sent - received + BLOCK <= WINDOW) {
            const size_t count = std::min<uint64_t>(BLOCK, options.requests - sent);
            for (size_t i = 0; i < count; i++) keys[i] = Key(mix(zipf.next(state)) % options.items);
            send(socket, keys.data(), count * sizeof keys[0]);
            sent += count;
        }
        const ssize_t count = receive(socket, replies.data(), sizeof replies[0], WINDOW, true);
        if (count == 0) exit(1);
        for (ssize_t i = 0; i < count; i++) sum += replies[i].sum;
        received += count;
    }
    printf("%016llx\n", (unsigned long long)sum);
    exit(0);
}

/* The server: fibers take requests from a block, and whoever finds none left reads the next. */
class Server {
public:
    Server(int socket, const Table &table) : socket(socket), table(table), requests(BLOCK) { replies.reserve(BLOCK); }

    void serve(int fibers) {
        std::vector<boost::fibers::fiber> all;
        for (int i = 0; i < fibers; i++) all.emplace_back([this] { work(); });
        for (auto &fiber : all) fiber.join();
        flush();
    }

private:
    void work() {
        Key key;
        while (take(key)) {
            const Item *item = table.find(key);
            replies.push_back(reply(item));
            serving--;
            if (replies.size() == BLOCK) flush();
        }
    }

    bool take(Key &key) {
        while (taken == count && !closed) {
            /* The client may wait for what it has asked, here or in other fibers. */
            flush();
            const ssize_t got = receive(socket, requests.data(), sizeof requests[0], BLOCK, serving == 0);
            if (got < 0) {
                boost::this_fiber::yield();
                continue;
            }
            closed = got == 0;
            count = got;
            taken = 0;
        }
        if (closed) return false;
        key = requests[taken++];
        serving++;
        return true;
    }

    static Reply reply(const Item *item) {
        Reply reply;
        for (size_t i = 0; item && i < sizeof item->value; i += 8) {
            uint64_t word;
            memcpy(&word, item->value + i, 8);
            reply.sum = reply.sum * 3 + word;
        }
        return reply;
    }

    void flush() {
        send(socket, replies.data(), replies.size() * sizeof replies[0]);
        replies.clear();
    }

    int socket;
    const Table &table;
    std::vector<Key> requests;
    std::vector<Reply> replies;
    size_t taken = 0, count = 0, serving = 0;
    bool closed = false;
};

Options parse(int argc, char **argv) {
    const option known[] = {{"items", 1, 0, 'i'}, {"requests", 1, 0, 'r'}, {"fibers", 1, 0, 'f'},
                            {"zipf", 1, 0, 'z'},  {"blocking", 0, 0, 'b'}, {0, 0, 0, 0}};
    Options options;
    for (int c; (c = getopt_long(argc, argv, "", known, 0)) != -1;) {
        switch (c) {
        case 'i': options.items = strtoull(optarg, 0, 10); break;
        case 'r': options.requests = strtoull(optarg, 0, 10); break;
        case 'f': options.fibers = atoi(optarg); break;
        case 'z': options.zipf = atof(optarg); break;
        case 'b': options.blocking = true; break;
        default: exit(2);
        }
    }
    if (optind != argc || options.items < 1 || options.fibers < 1 || options.zipf < 0) {
        fputs("usage: kvserver [--items N] [--requests N] [--fibers N] [--zipf S] [--blocking]\n", stderr);
        exit(2);
    }
    return options;
}

}

int main(int argc, char **argv) {
    const Options options = parse(argc, argv);
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) fail("socketpair");
    const pid_t child = fork();
    if (child < 0) fail("fork");
    if (child == 0) {
        close(ends[0]);
        client(ends[1], options);
    }
    close(ends[1]);
    const Table table(options.items);
    const auto begin = std::chrono::steady_clock::now();
    {
        std::unique_ptr<farside::fibers> switching;
        if (!options.blocking) switching.reset(new farside::fibers);
        Server(ends[0], table).serve(options.fibers);
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    fprintf(stderr, "%.4f s, %.0f requests/s\n", took.count(), options.requests / took.count());
    close(ends[0]);
    int status;
    if (waitpid(child, &status, 0) != child) fail("waitpid");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
