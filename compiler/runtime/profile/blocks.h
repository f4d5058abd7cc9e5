/* Blocks that are allocated, by their address: a table of which at most half is used. */

#define FIRST_BLOCKS 4096u

static uint64_t place_of_block(uint64_t address) {
    return ((address >> 4) * 0x9e3779b97f4a7c15u >> 20) & state.block_mask;
}

static struct block *find_block(uint64_t address) {
    uint64_t place = place_of_block(address);
    while (state.blocks[place].address && state.blocks[place].address != address) place = (place + 1) & state.block_mask;
    return &state.blocks[place];
}

/* False if there is no memory. */
static int make_room(void) {
    struct block *had = state.blocks;
    const uint64_t count = had ? state.block_mask + 1 : 0, wanted = had ? 2 * count : FIRST_BLOCKS;
    uint64_t i;
    if (2 * state.block_count < count) return 1;
    state.blocks = (struct block *)memory(wanted * sizeof *had);
    if (!state.blocks) {
        state.blocks = had;
        return state.block_count + 1 < count;
    }
    state.block_mask = wanted - 1;
    for (i = 0; i < count; i++)
        if (had[i].address) *find_block(had[i].address) = had[i];
    if (had) syscall(SYS_munmap, had, count * sizeof *had);
    return 1;
}

/* Forgets a block, and moves those up that were put behind it. */
static void remove_block(struct block *block) {
    uint64_t hole = (uint64_t)(block - state.blocks), place = hole;
    for (;;) {
        uint64_t wanted;
        place = (place + 1) & state.block_mask;
        if (!state.blocks[place].address) break;
        wanted = place_of_block(state.blocks[place].address);
        if (((place - wanted) & state.block_mask) < ((place - hole) & state.block_mask)) continue;
        state.blocks[hole] = state.blocks[place];
        hole = place;
    }
    state.blocks[hole].address = 0;
    state.block_count--;
}

static void forget(uint64_t address, uint64_t now) {
    struct block *block = state.blocks ? find_block(address) : 0;
    if (!block || !block->address) return;
    block->site->live--;
    block->site->live_bytes -= block->size;
    block->site->last = now;
    remove_block(block);
}

SLOW void farside_profile_allocated_(struct site *site, uint64_t address, uint64_t size) {
    const uint64_t now = ticks();
    lock();
    /* It was freed where nobody has seen it. */
    forget(address, now);
    if (make_room()) {
        struct block *block = find_block(address);
        block->address = address;
        block->size = size;
        block->site = site;
        state.block_count++;
        if (!site->blocks++) site->first = now;
        site->bytes += size;
        site->live++;
        site->live_bytes += size;
        if (site->live_bytes > site->peak_bytes) site->peak_bytes = site->live_bytes;
        if (size > site->largest) site->largest = size;
    }
    unlock();
}

SLOW void farside_profile_freed_(uint64_t address) {
    const uint64_t now = ticks();
    lock();
    forget(address, now);
    unlock();
}

PART void farside_profile_allocated(struct site *site, const void *block, uint64_t size) {
    if (__builtin_expect(farside_profile_on_ && block, 0))
        farside_profile_allocated_(site, (uint64_t)(uintptr_t)block, size);
}

PART void farside_profile_freed(const void *block) {
    if (__builtin_expect(farside_profile_on_ && block, 0)) farside_profile_freed_((uint64_t)(uintptr_t)block);
}
