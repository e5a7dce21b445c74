/* Compiled twins of _plain.py: same functions, same arguments, same reports from the same random words.
 *
 * A kernel reads the true codes and the random words of n rows and writes n reports. A row may have more words than
 * its first reading needs: `uniform`, `subset` and `unary` then go on to these, in order, where a choice is rejected or
 * a half ties with a threshold. A row that its words do not settle is listed in `unsettled`; the caller gives it more
 * words, and draws it from the exact form in Python where these do not settle it either, as after a tie with all the
 * digits of a threshold that are given here. Whatever a kernel decides follows from comparing integers.
 *
 * Rows of `words` are 32-bit words in memory order; two words a, b read together are the number a + 2^32 b.
 * The doorway checks shapes, sizes of items, overlaps and codes, once for each call; a wrong one is a ValueError. What
 * stands in the tables of `listed` is the caller's word: tables.py makes them.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__) && defined(__x86_64__)
#include <immintrin.h>
#define HAVE_AVX2_PATH 1
#endif

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#error "words are read in little-endian order; the plain kernels serve this machine"
#endif

/* Of 2^32 words, those whose product with `bound` has a low half below this are rejected, so that the high half is
 * exactly uniform on 0..bound-1. Source: after [Lemire2019]. */
static inline uint32_t rejected_below(uint32_t bound) { return (uint32_t)(0u - bound) % bound; }

static inline uint64_t two_words(const uint32_t *w) { return (uint64_t)w[0] | ((uint64_t)w[1] << 32); }

/* Written out anew for each width of codes that a caller names, so that the loop does not ask for it row by row. */
#if defined(__GNUC__)
#define FOR_EACH_WIDTH static inline __attribute__((always_inline))
#define KERNEL static __attribute__((noinline)) /* else what stands around a call slows its loop, by a twentieth */
#else
#define FOR_EACH_WIDTH static inline
#define KERNEL static
#endif

/* Codes come and go in the smallest unsigned type that holds them. */
FOR_EACH_WIDTH uint32_t code_at(const void *codes, int size, Py_ssize_t i) {
    switch (size) {
        case 1: return ((const uint8_t *)codes)[i];
        case 2: return ((const uint16_t *)codes)[i];
        case 4: return ((const uint32_t *)codes)[i];
        default: return (uint32_t)((const uint64_t *)codes)[i];
    }
}

FOR_EACH_WIDTH void put_code(void *codes, int size, Py_ssize_t i, uint32_t code) {
    switch (size) {
        case 1: ((uint8_t *)codes)[i] = (uint8_t)code; break;
        case 2: ((uint16_t *)codes)[i] = (uint16_t)code; break;
        case 4: ((uint32_t *)codes)[i] = code; break;
        default: ((uint64_t *)codes)[i] = code;
    }
}

/* ---- uniform: keep the truth when (w0, w1) < threshold, else the category w0 * k >> 32 ------------------------- */

static inline int uniform_unsettled(uint32_t low, uint32_t high, uint32_t k, uint32_t top, uint32_t rejected) {
    return high == top || (high > top && (uint32_t)(low * k) < rejected);
}

#ifdef HAVE_AVX2_PATH
/* 32 rows a turn. Lane l of vector j holds row 4j + l; its report goes to byte j of lane l of `reports`, and the
 * closing shuffles bring the bytes into row order. Returns the number of rows done. */
__attribute__((target("avx2"))) static Py_ssize_t uniform_bytes_avx2(const uint8_t *codes, const uint32_t *words,
                                                                     Py_ssize_t n, uint32_t k, uint32_t top,
                                                                     uint32_t rejected, uint8_t *out,
                                                                     int64_t *unsettled, Py_ssize_t *found) {
    const __m256i K = _mm256_set1_epi64x(k), TOP = _mm256_set1_epi64x(top), REJECTED = _mm256_set1_epi64x(rejected);
    const __m256i LOW = _mm256_set1_epi64x(0xffffffff), BYTE = _mm256_set1_epi64x(255);
    const __m256i PAIRS = _mm256_setr_epi8(0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15, 0, 8, 1, 9, 2, 10, 3,
                                           11, 4, 12, 5, 13, 6, 14, 7, 15);
    Py_ssize_t i = 0;
    for (; i + 32 <= n; i += 32) {
        __m256i reports = _mm256_setzero_si256(), kept_bytes = reports, open = reports;
#pragma GCC unroll 8
        for (int j = 0; j < 8; j++) {
            __m256i word = _mm256_loadu_si256((const __m256i *)(words + 2 * (i + 4 * j)));
            __m256i high = _mm256_srli_epi64(word, 32), product = _mm256_mul_epu32(word, K);
            __m256i kept = _mm256_cmpgt_epi64(TOP, high);
            __m256i low_half = _mm256_cmpgt_epi64(REJECTED, _mm256_and_si256(product, LOW));
            open = _mm256_or_si256(open, _mm256_cmpeq_epi64(high, TOP));
            open = _mm256_or_si256(open, _mm256_andnot_si256(kept, low_half));
            reports = _mm256_or_si256(reports, _mm256_slli_epi64(_mm256_srli_epi64(product, 32), 8 * j));
            kept_bytes = _mm256_or_si256(kept_bytes, _mm256_and_si256(kept, _mm256_slli_epi64(BYTE, 8 * j)));
        }
        reports = _mm256_shuffle_epi8(reports, PAIRS);
        kept_bytes = _mm256_shuffle_epi8(kept_bytes, PAIRS);
        __m128i r0 = _mm256_castsi256_si128(reports), r1 = _mm256_extracti128_si256(reports, 1);
        __m128i m0 = _mm256_castsi256_si128(kept_bytes), m1 = _mm256_extracti128_si256(kept_bytes, 1);
        reports = _mm256_set_m128i(_mm_unpackhi_epi16(r0, r1), _mm_unpacklo_epi16(r0, r1));
        kept_bytes = _mm256_set_m128i(_mm_unpackhi_epi16(m0, m1), _mm_unpacklo_epi16(m0, m1));
        __m256i truth = _mm256_loadu_si256((const __m256i *)(codes + i));
        _mm256_storeu_si256((__m256i *)(out + i), _mm256_blendv_epi8(reports, truth, kept_bytes));
        if (!_mm256_testz_si256(open, open))
            for (Py_ssize_t r = i; r < i + 32; r++)
                if (uniform_unsettled(words[2 * r], words[2 * r + 1], k, top, rejected)) unsettled[(*found)++] = r;
    }
    return i;
}
#endif

FOR_EACH_WIDTH Py_ssize_t uniform_rows(const void *codes, int size, const uint32_t *words, Py_ssize_t stride,
                                       Py_ssize_t first, Py_ssize_t n, uint32_t k, uint32_t top, uint32_t rejected,
                                       void *out, int64_t *unsettled, Py_ssize_t found) {
    for (Py_ssize_t i = first; i < n; i++) {
        uint32_t low = words[i * stride], high = words[i * stride + 1];
        put_code(out, size, i, high < top ? code_at(codes, size, i) : (uint32_t)(((uint64_t)low * k) >> 32));
        if (uniform_unsettled(low, high, k, top, rejected)) unsettled[found++] = i;
    }
    return found;
}

/* Of the listed rows, those whose choice was rejected choose anew, with the first of their further words that is not.
 * Those that stay unsettled move up in the list. */
static Py_ssize_t uniform_further(int size, const uint32_t *words, Py_ssize_t stride, Py_ssize_t columns, uint32_t k,
                                  uint32_t top, uint32_t rejected, void *out, int64_t *unsettled, Py_ssize_t listed) {
    Py_ssize_t found = 0;
    for (Py_ssize_t u = 0; u < listed; u++) {
        const uint32_t *w = words + unsettled[u] * stride;
        Py_ssize_t c = w[1] == top ? columns : 2; /* a tie is not for this kernel */
        while (c < columns && (uint32_t)(w[c] * k) < rejected) c++;
        if (c < columns) put_code(out, size, unsettled[u], (uint32_t)(((uint64_t)w[c] * k) >> 32));
        else unsettled[found++] = unsettled[u];
    }
    return found;
}

KERNEL Py_ssize_t uniform_first(const void *codes, int size, const uint32_t *words, Py_ssize_t stride, Py_ssize_t n,
                                uint32_t k, uint32_t top, uint32_t rejected, void *out, int64_t *unsettled) {
    Py_ssize_t first = 0, found = 0;
#ifdef HAVE_AVX2_PATH
    if (size == 1 && stride == 2 && __builtin_cpu_supports("avx2"))
        first = uniform_bytes_avx2(codes, words, n, k, top, rejected, out, unsettled, &found);
#endif
    if (size == 1) return uniform_rows(codes, 1, words, stride, first, n, k, top, rejected, out, unsettled, found);
    if (size == 2) return uniform_rows(codes, 2, words, stride, first, n, k, top, rejected, out, unsettled, found);
    return uniform_rows(codes, size, words, stride, first, n, k, top, rejected, out, unsettled, found);
}

static Py_ssize_t uniform(const void *codes, int size, const uint32_t *words, Py_ssize_t stride, Py_ssize_t columns,
                          Py_ssize_t n, uint32_t k, uint64_t threshold, void *out, int64_t *unsettled) {
    uint32_t top = (uint32_t)(threshold >> 32), rejected = rejected_below(k);
    Py_ssize_t listed = uniform_first(codes, size, words, stride, n, k, top, rejected, out, unsettled);
    return uniform_further(size, words, stride, columns, k, top, rejected, out, unsettled, listed);
}

/* ---- categorical: the number of thresholds of the row's column that (w0, w1) has passed ------------------------ */

FOR_EACH_WIDTH Py_ssize_t categorical_rows(const void *columns, int size, const uint32_t *words, Py_ssize_t stride,
                                           Py_ssize_t n, const uint64_t *thresholds, uint32_t per_column,
                                           const uint32_t *guide, int guide_bits, void *out, int out_size,
                                           int64_t *unsettled) {
    Py_ssize_t found = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        size_t column = code_at(columns, size, i);
        uint64_t word = two_words(words + i * stride);
        const uint64_t *t = thresholds + column * per_column;
        uint32_t r = guide[(column << guide_bits) + (word >> (64 - guide_bits))];
        while (r < per_column && t[r] < word) r++;
        put_code(out, out_size, i, r);
        if (r < per_column && t[r] == word) unsettled[found++] = i;
    }
    return found;
}

KERNEL Py_ssize_t categorical(const void *columns, int size, const uint32_t *words, Py_ssize_t stride, Py_ssize_t n,
                              const uint64_t *thresholds, uint32_t per_column, const uint32_t *guide, int guide_bits,
                              void *out, int out_size, int64_t *unsettled) {
    if (size == 1 && out_size == 1)
        return categorical_rows(columns, 1, words, stride, n, thresholds, per_column, guide, guide_bits, out, 1,
                                unsettled);
    return categorical_rows(columns, size, words, stride, n, thresholds, per_column, guide, guide_bits, out, out_size,
                            unsettled);
}

/* ---- listed: columns that list only the reports which can occur, each with a threshold but the last ------------ */

/* What is told of a column: its first and last entry, where its guide starts, and how many leading bits of a word
 * choose a line of the guide (0: the column is short and has none). */
typedef struct {
    int64_t first, last, guide, bits;
} Column;

/* How many of n increasing thresholds are below the word, by halving: the steps do not depend on the word, which no
 * processor could foresee. */
static inline int64_t passed_of_few(const uint64_t *thresholds, int64_t n, uint64_t word) {
    int64_t passed = 0;
    for (; n > 1; n -= n >> 1) passed += (n >> 1) & -(int64_t)(thresholds[passed + (n >> 1) - 1] < word);
    return n ? passed + (thresholds[passed] < word) : 0;
}

/* Tables beyond the caches are asked for in advance: the column of a row 32 rows before its turn, its entries 16. */
#if defined(__GNUC__)
#define FETCH(address) __builtin_prefetch(address)
#else
#define FETCH(address) ((void)(address))
#endif
enum { FAR_COLUMNS = 1 << 14, AHEAD = 16 };

FOR_EACH_WIDTH void fetch_ahead(const void *codes, int size, Py_ssize_t i, Py_ssize_t n, const Column *columns,
                                const uint64_t *thresholds, const uint32_t *reports) {
    if (i + 2 * AHEAD >= n) return;
    const Column *next = columns + code_at(codes, size, i + AHEAD);
    FETCH(columns + code_at(codes, size, i + 2 * AHEAD));
    FETCH(thresholds + next->first);
    FETCH(reports + next->first);
}

FOR_EACH_WIDTH Py_ssize_t listed_rows(const void *codes, int size, const uint32_t *words, Py_ssize_t stride,
                                      Py_ssize_t n, const Column *columns, int far, const uint64_t *thresholds,
                                      const uint32_t *guide, const uint32_t *reports, void *out, int out_size,
                                      int64_t *unsettled) {
    Py_ssize_t found = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        const Column *c = columns + code_at(codes, size, i);
        uint64_t word = two_words(words + i * stride);
        int64_t e = c->first, last = c->last;
        if (far) fetch_ahead(codes, size, i, n, columns, thresholds, reports);
        if (c->bits) {
            e += guide[c->guide + (int64_t)(word >> (64 - c->bits))];
            while (e < last && thresholds[e] < word) e++;
        } else {
            e += passed_of_few(thresholds + e, last - e, word);
        }
        put_code(out, out_size, i, reports[e]);
        if (thresholds[e] == word && e < last) unsettled[found++] = i;
    }
    return found;
}

KERNEL Py_ssize_t listed(const void *codes, int size, const uint32_t *words, Py_ssize_t stride, Py_ssize_t n,
                         const Column *columns, Py_ssize_t k, const uint64_t *thresholds, const uint32_t *guide,
                         const uint32_t *reports, void *out, int out_size, int64_t *unsettled) {
    int far = k > FAR_COLUMNS;
    if (size == 1 && out_size == 1)
        return listed_rows(codes, 1, words, stride, n, columns, 0, thresholds, guide, reports, out, 1, unsettled);
    if (size == 2 && out_size == 2 && !far)
        return listed_rows(codes, 2, words, stride, n, columns, 0, thresholds, guide, reports, out, 2, unsettled);
    return listed_rows(codes, size, words, stride, n, columns, far, thresholds, guide, reports, out, out_size,
                       unsettled);
}

/* ---- subset: maybe the truth, and a uniformly drawn set of other categories, as bits --------------------------- */

enum { LANES = 4, FEW = 64 };

typedef struct {
    uint32_t k, size;
    int coin;            /* whether a coin decides if the truth is named; else it always is */
    uint64_t threshold;  /* of the coin */
    uint8_t *chosen[LANES]; /* scratch: one byte for each other category, padded to whole words of 8 bytes */
    uint64_t *mask;      /* scratch: the report as bits */
} Sets;

/* Whether a word is rejected that makes this product with last + 1. */
static inline uint32_t is_rejected(uint64_t product, uint32_t last) {
    return (uint32_t)product <= last && (uint32_t)product < rejected_below(last + 1);
}

/* One step of Floyd's method: choose a number of 0..last, or `last` itself if that one is taken. Bytes, unlike bits,
 * let the processor look ahead. */
static inline void choose_one(uint64_t product, uint32_t last, uint8_t *chosen) {
    uint32_t pick = (uint32_t)(product >> 32);
    pick ^= (pick ^ last) & (0u - chosen[pick]);
    chosen[pick] = 1;
}

/* 64 bytes of 0 or 1 to bits, the first byte to the lowest bit. */
static inline uint64_t pack64(const uint8_t *ones) {
    uint64_t bits = 0;
#ifdef HAVE_AVX2_PATH /* then SSE2 is there as well */
    for (int b = 0; b < 4; b++) {
        __m128i sixteen = _mm_slli_epi16(_mm_loadu_si128((const __m128i *)(ones + 16 * b)), 7);
        bits |= (uint64_t)(uint32_t)_mm_movemask_epi8(sixteen) << (16 * b);
    }
#else
    for (int b = 0; b < 8; b++) {
        uint64_t eight;
        memcpy(&eight, ones + 8 * b, 8);
        bits |= (eight * 0x0102040810204080ull >> 56) << (8 * b);
    }
#endif
    return bits;
}

/* The same in bits, an eighth of the memory, for rows that are drawn one by one: many categories fit the caches. */
static inline void choose_bit(uint64_t product, uint32_t last, uint64_t *mask) {
    uint32_t pick = (uint32_t)(product >> 32);
    pick ^= (pick ^ last) & (0u - (uint32_t)(mask[pick >> 6] >> (pick & 63) & 1));
    mask[pick >> 6] |= 1ull << (pick & 63);
}

/* A bit is put in at `at`, moving up those above. */
static void insert(uint64_t *mask, Py_ssize_t words, uint32_t at, uint64_t bit) {
    Py_ssize_t w = at >> 6;
    uint64_t low = (1ull << (at & 63)) - 1, carry = mask[w] >> 63;
    mask[w] = (mask[w] & low) | (mask[w] & ~low) << 1 | bit << (at & 63);
    for (w++; w < words; w++) {
        uint64_t next = mask[w] >> 63;
        mask[w] = mask[w] << 1 | carry;
        carry = next;
    }
}

/* The report of what is chosen in `mask`: the others, numbered without the truth, and maybe the truth. */
static void put_set(const Sets *s, uint32_t truth, uint32_t includes, uint8_t *report) {
    insert(s->mask, ((Py_ssize_t)s->k + 63) / 64, truth, includes);
    memcpy(report, s->mask, ((size_t)s->k + 7) / 8);
}

/* One row, its words in order: each rejected word is followed by the next one. Returns 0 as soon as the words left are
 * fewer than the choices left, or the coin ties with its threshold. */
static int subset_row(const Sets *s, const uint32_t *w, const uint32_t *end, uint32_t truth, uint8_t *report) {
    uint32_t includes = 1;
    if (s->coin) {
        uint64_t word = two_words(w);
        if (word == s->threshold) return 0;
        includes = word < s->threshold;
        w += 2;
    }
    memset(s->mask, 0, ((size_t)s->k + 63) / 64 * 8);
    for (uint32_t left = s->size - includes; left; left--) {
        uint32_t last = s->k - 1 - left;
        uint64_t product = (uint64_t)*w++ * (last + 1);
        while (is_rejected(product, last)) {
            if (end - w < (Py_ssize_t)left) return 0;
            product = (uint64_t)*w++ * (last + 1);
        }
        choose_bit(product, last, s->mask);
    }
    put_set(s, truth, includes, report);
    return 1;
}

/* Rows side by side: each step waits for the one before, so several rows keep the processor busy. A row that names the
 * truth draws size - 1 others, one that does not draws size: it makes one step before the common ones. Sets the flag of
 * a row in which a word is rejected or the coin ties, and leaves it to subset_row. */
static void subset_lanes(const Sets *s, const void *codes, int code_size, const uint32_t *words, Py_ssize_t stride,
                         Py_ssize_t first, uint8_t *out, uint32_t *open) {
    const Py_ssize_t bytes = ((Py_ssize_t)s->k + 7) / 8;
    const uint32_t *w[LANES];
    uint32_t includes[LANES];
    for (int l = 0; l < LANES; l++) {
        w[l] = words + (first + l) * stride;
        includes[l] = 1;
        open[l] = 0;
        memset(s->chosen[l], 0, ((size_t)s->k + 63) / 64 * 64);
        if (!s->coin) continue;
        uint64_t word = two_words(w[l]);
        includes[l] = word < s->threshold;
        open[l] = word == s->threshold;
        w[l] += 2;
        if (includes[l]) continue;
        uint32_t last = s->k - 1 - s->size;
        uint64_t product = (uint64_t)*w[l]++ * (last + 1);
        open[l] |= is_rejected(product, last);
        choose_one(product, last, s->chosen[l]);
    }
    for (uint32_t last = s->k - s->size, i = 0; last + 1 < s->k; last++, i++)
        for (int l = 0; l < LANES; l++) {
            uint64_t product = (uint64_t)w[l][i] * (last + 1);
            open[l] |= is_rejected(product, last);
            choose_one(product, last, s->chosen[l]);
        }
    for (int l = 0; l < LANES; l++) {
        if (open[l]) continue;
        for (Py_ssize_t b = 0; b < ((Py_ssize_t)s->k + 63) / 64; b++) s->mask[b] = pack64(s->chosen[l] + 64 * b);
        put_set(s, code_at(codes, code_size, first + l), includes[l], out + (first + l) * bytes);
    }
}

/* A row of up to 64 categories, whose set fits a register. Returns 1 where a word might be rejected, as only one can
 * whose product has a low half below the bound, or the coin ties: subset_row then draws the row. The step that only a
 * row without its truth makes is always read, and counts where it is one: no branch depends on the coin. */
FOR_EACH_WIDTH int few_row(const Sets *s, const uint32_t *w, uint32_t truth, uint64_t *mask) {
    uint64_t includes = 1, chosen = 0;
    uint32_t least = UINT32_MAX, tie = 0;
    if (s->coin) {
        uint64_t word = two_words(w), product = (uint64_t)w[2] * (s->k - s->size);
        includes = word < s->threshold;
        tie = word == s->threshold;
        least = (uint32_t)product;
        chosen = (includes ^ 1) << (product >> 32);
        w += 3 - includes;
    }
    for (uint32_t last = s->k - s->size; last + 1 < s->k; last++) {
        uint64_t product = (uint64_t)*w++ * (last + 1), pick = product >> 32;
        least = (uint32_t)product < least ? (uint32_t)product : least;
        pick ^= (pick ^ last) & (0 - (chosen >> pick & 1));
        chosen |= 1ull << pick;
    }
    uint64_t low = (1ull << truth) - 1;
    *mask = (chosen & low) | (chosen & ~low) << 1 | includes << truth;
    return least < s->k || tie;
}

/* Where a row is likely to meet a rejected word, rows are drawn one by one from the start. */
static int rejects_often(const Sets *s) { return (uint64_t)s->k * s->size >> 31 != 0; }

/* The rows of few categories; `bytes` is named where stores of its width pay. */
FOR_EACH_WIDTH Py_ssize_t few_rows(const Sets *s, const void *codes, int code_size, const uint32_t *words,
                                   Py_ssize_t stride, Py_ssize_t columns, Py_ssize_t n, size_t bytes, uint8_t *out,
                                   int64_t *unsettled) {
    Py_ssize_t found = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        const uint32_t *w = words + i * stride, truth = code_at(codes, code_size, i);
        uint8_t *report = out + (size_t)i * bytes;
        uint64_t mask;
        if (!few_row(s, w, truth, &mask)) memcpy(report, &mask, bytes);
        else if (!subset_row(s, w, w + columns, truth, report)) unsettled[found++] = i;
    }
    return found;
}

FOR_EACH_WIDTH Py_ssize_t few_widths(const Sets *s, const void *codes, int code_size, const uint32_t *words,
                                     Py_ssize_t stride, Py_ssize_t columns, Py_ssize_t n, uint8_t *out,
                                     int64_t *unsettled) {
    size_t bytes = ((size_t)s->k + 7) / 8;
    if (code_size == 1 && bytes == 1) return few_rows(s, codes, 1, words, stride, columns, n, 1, out, unsettled);
    if (code_size == 1 && bytes == 2) return few_rows(s, codes, 1, words, stride, columns, n, 2, out, unsettled);
    if (code_size == 1 && bytes == 4) return few_rows(s, codes, 1, words, stride, columns, n, 4, out, unsettled);
    if (code_size == 1 && bytes == 8) return few_rows(s, codes, 1, words, stride, columns, n, 8, out, unsettled);
    return few_rows(s, codes, code_size, words, stride, columns, n, bytes, out, unsettled);
}

#ifdef HAVE_AVX2_PATH
/* The same code for processors whose shifts by a number in a register take one step. */
__attribute__((target("bmi2"), noinline)) static Py_ssize_t few_bmi2(const Sets *s, const void *codes, int code_size,
                                                                     const uint32_t *words, Py_ssize_t stride,
                                                                     Py_ssize_t columns, Py_ssize_t n, uint8_t *out,
                                                                     int64_t *unsettled) {
    return few_widths(s, codes, code_size, words, stride, columns, n, out, unsettled);
}
#endif

KERNEL Py_ssize_t few(const Sets *s, const void *codes, int code_size, const uint32_t *words, Py_ssize_t stride,
                      Py_ssize_t columns, Py_ssize_t n, uint8_t *out, int64_t *unsettled) {
#ifdef HAVE_AVX2_PATH
    if (__builtin_cpu_supports("bmi2")) return few_bmi2(s, codes, code_size, words, stride, columns, n, out, unsettled);
#endif
    return few_widths(s, codes, code_size, words, stride, columns, n, out, unsettled);
}

KERNEL Py_ssize_t subset(const Sets *s, const void *codes, int code_size, const uint32_t *words, Py_ssize_t stride,
                         Py_ssize_t columns, Py_ssize_t n, uint8_t *out, int64_t *unsettled) {
    const Py_ssize_t bytes = ((Py_ssize_t)s->k + 7) / 8, in_lanes = rejects_often(s) ? 0 : n - n % LANES;
    Py_ssize_t found = 0;
    uint32_t open[LANES] = {1, 1, 1, 1};
    for (Py_ssize_t i = 0; i < n; i++) {
        if (i < in_lanes && i % LANES == 0) subset_lanes(s, codes, code_size, words, stride, i, out, open);
        if (i < in_lanes && !open[i % LANES]) continue;
        const uint32_t *w = words + i * stride;
        if (!subset_row(s, w, w + columns, code_at(codes, code_size, i), out + i * bytes)) unsettled[found++] = i;
    }
    return found;
}

/* ---- unary: bit j is one when the j-th 16-bit half is below its threshold -------------------------------------- */

/* Bit j of `bits` = (half j < flip), for j from `first` to k; returns whether some half equals flip. */
static int compare_halves(const uint16_t *half, size_t first, size_t k, uint16_t flip, uint8_t *bits) {
    int tie = 0;
    for (size_t j = first; j < k; j += 8) {
        uint32_t byte = 0, width = k - j < 8 ? (uint32_t)(k - j) : 8;
        for (uint32_t b = 0; b < width; b++) {
            byte |= (uint32_t)(half[j + b] < flip) << b;
            tie |= half[j + b] == flip;
        }
        bits[j >> 3] = (uint8_t)byte;
    }
    return tie;
}

#ifdef HAVE_AVX2_PATH
/* The same, 32 halves a turn, and 16 at the end. AVX2 compares signed numbers only, so the top bit is flipped on both
 * sides. */
__attribute__((target("avx2"))) static int compare_halves_avx2(const uint16_t *half, size_t k, uint16_t flip,
                                                               uint8_t *bits) {
    const __m256i TOP = _mm256_set1_epi16((short)0x8000), FLIP = _mm256_xor_si256(_mm256_set1_epi16((short)flip), TOP);
    __m256i equal = _mm256_setzero_si256();
    size_t j = 0;
    for (; j + 32 <= k; j += 32) {
        __m256i x = _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)(half + j)), TOP);
        __m256i y = _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)(half + j + 16)), TOP);
        equal = _mm256_or_si256(equal, _mm256_or_si256(_mm256_cmpeq_epi16(x, FLIP), _mm256_cmpeq_epi16(y, FLIP)));
        __m256i below = _mm256_packs_epi16(_mm256_cmpgt_epi16(FLIP, x), _mm256_cmpgt_epi16(FLIP, y));
        uint32_t packed = (uint32_t)_mm256_movemask_epi8(_mm256_permute4x64_epi64(below, 0xD8));
        memcpy(bits + (j >> 3), &packed, 4);
    }
    if (j + 16 <= k) {
        __m256i x = _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)(half + j)), TOP);
        equal = _mm256_or_si256(equal, _mm256_cmpeq_epi16(x, FLIP));
        __m256i below = _mm256_packs_epi16(_mm256_cmpgt_epi16(FLIP, x), _mm256_setzero_si256());
        uint16_t packed = (uint16_t)_mm256_movemask_epi8(_mm256_permute4x64_epi64(below, 0xD8));
        memcpy(bits + (j >> 3), &packed, 2);
        j += 16;
    }
    return compare_halves(half, j, k, flip, bits) | !_mm256_testz_si256(equal, equal);
}
#endif

static void set_bit(uint8_t *bits, uint32_t j, int one) {
    bits[j >> 3] = (uint8_t)((bits[j >> 3] & ~(1u << (j & 7))) | (unsigned)one << (j & 7));
}

/* The first 48 bits of a probability, and whether it ends within the first 16, so that a tie with these is no tie. */
typedef struct {
    uint64_t digits;
    int ends;
} Bit;

static inline uint16_t leading(const Bit *p) { return (uint16_t)(p->digits >> 32); }

/* Whether one of up to 64 halves equals a number; compilers make vectors of it. */
static inline int is_among(const uint16_t *half, uint32_t n, uint16_t number) {
    int equal = 0;
    for (uint32_t b = 0; b < n; b++) equal |= half[b] == number;
    return equal;
}

/* Settles the halves that tie with their thresholds, from the first to the last, each by the next word against the
 * threshold's next 32 bits. Returns 0 when such a word ties too, or no word is left. */
static int settle_ties(const uint16_t *half, uint32_t k, uint32_t truth, const Bit *keep, const Bit *flip,
                       const uint32_t *w, const uint32_t *end, uint8_t *bits) {
    for (uint32_t width, first = 0; first < k; first += width) {
        width = k - first < 64 ? k - first : 64;
        if (truth - first >= width && !is_among(half + first, width, leading(flip))) continue;
        for (uint32_t j = first; j < first + width; j++) {
            const Bit *p = j == truth ? keep : flip;
            if (half[j] != leading(p) || p->ends) continue;
            if (w == end || *w == (uint32_t)p->digits) return 0;
            set_bit(bits, j, *w++ < (uint32_t)p->digits);
        }
    }
    return 1;
}

/* The bits of up to 8 categories, made in a register; returns whether some half ties, as compare_halves does. */
FOR_EACH_WIDTH int one_byte(const uint16_t *half, uint32_t k, uint32_t truth, uint16_t keep, uint16_t flip,
                            uint8_t *bits) {
    uint32_t mask = 0, tie = 0;
    for (uint32_t j = 0; j < k; j++) {
        mask |= (uint32_t)(half[j] < flip) << j;
        tie |= half[j] == flip;
    }
    *bits = (uint8_t)((mask & ~(1u << truth)) | (uint32_t)(half[truth] < keep) << truth);
    return (int)tie;
}

/* All bits by the halves alone; returns whether one of them may tie. */
FOR_EACH_WIDTH int all_bits(const uint16_t *half, uint32_t k, int wide, uint32_t truth, uint16_t keep, uint16_t flip,
                            uint8_t *bits) {
    if (k <= 8) return one_byte(half, k, truth, keep, flip, bits) | (half[truth] == keep);
#ifdef HAVE_AVX2_PATH
    int tie = wide ? compare_halves_avx2(half, k, flip, bits) : compare_halves(half, 0, k, flip, bits);
#else
    int tie = compare_halves(half, 0, k, flip, bits);
    (void)wide;
#endif
    set_bit(bits, truth, half[truth] < keep);
    return tie | (half[truth] == keep);
}

FOR_EACH_WIDTH Py_ssize_t unary_rows(const void *codes, int code_size, const uint32_t *words, Py_ssize_t stride,
                                     Py_ssize_t columns, Py_ssize_t n, uint32_t k, int wide, const Bit *keep,
                                     const Bit *flip, uint8_t *out, int64_t *unsettled) {
    Py_ssize_t found = 0;
    const size_t bytes = ((size_t)k + 7) / 8, read = ((size_t)k + 1) / 2;
    const uint16_t keep16 = leading(keep), flip16 = leading(flip);
    const int ends = keep->ends && flip->ends;
    for (Py_ssize_t i = 0; i < n; i++) {
        const uint32_t *w = words + i * stride, truth = code_at(codes, code_size, i);
        const uint16_t *half = (const uint16_t *)(const void *)w;
        uint8_t *bits = out + (size_t)i * bytes;
        if (all_bits(half, k, wide, truth, keep16, flip16, bits) && !ends)
            if (!settle_ties(half, k, truth, keep, flip, w + read, w + columns, bits)) unsettled[found++] = i;
    }
    return found;
}

KERNEL Py_ssize_t unary(const void *codes, int size, const uint32_t *words, Py_ssize_t stride, Py_ssize_t columns,
                        Py_ssize_t n, uint32_t k, const Bit *keep, const Bit *flip, uint8_t *out, int64_t *unsettled) {
#ifdef HAVE_AVX2_PATH
    const int wide = __builtin_cpu_supports("avx2");
#else
    const int wide = 0;
#endif
#define OF_SIZE(few)           \
    if (size == 1 && k == few) \
        return unary_rows(codes, 1, words, stride, columns, n, few, 0, keep, flip, out, unsettled);
    OF_SIZE(2) OF_SIZE(3) OF_SIZE(4) OF_SIZE(5) OF_SIZE(6) OF_SIZE(7) OF_SIZE(8)
#undef OF_SIZE
    return unary_rows(codes, size, words, stride, columns, n, k, wide, keep, flip, out, unsettled);
}

/* ---- tallies ---------------------------------------------------------------------------------------------------- */

/* Both return 0, or -1 where a code is not below the number of counts. */
static int tally_bytes(const uint8_t *codes, Py_ssize_t n, int64_t *counts, Py_ssize_t m) {
    static const Py_ssize_t LANES = 4; /* neighbours often share a code; separate counters keep them from waiting */
    int64_t lanes[4][256];
    memset(lanes, 0, sizeof lanes);
    Py_ssize_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (Py_ssize_t l = 0; l < LANES; l++) lanes[l][codes[i + l]]++;
    for (; i < n; i++) lanes[0][codes[i]]++;
    int64_t beyond = 0;
    for (Py_ssize_t c = 0; c < 256; c++)
        for (Py_ssize_t l = 0; l < LANES; l++) *(c < m ? &counts[c] : &beyond) += lanes[l][c];
    return beyond ? -1 : 0;
}

static int tally_wide(const uint32_t *codes, Py_ssize_t n, int64_t *counts, Py_ssize_t m) {
    for (Py_ssize_t i = 0; i < n; i++) {
        if ((Py_ssize_t)codes[i] >= m) return -1;
        counts[codes[i]]++;
    }
    return 0;
}

/* Each byte of a report is spread to eight byte-wide counters at once; they are emptied before they can overflow.
 * Returns the first row that does not hold `size` ones (any number when size is negative), -1 when there is none,
 * -2 when memory ran out. */
static Py_ssize_t tally_bits(const uint8_t *bits, Py_ssize_t n, Py_ssize_t bytes, Py_ssize_t k, int64_t size,
                             int64_t *counts) {
    uint64_t spread[256];
    for (unsigned v = 0; v < 256; v++) {
        spread[v] = 0;
        for (unsigned b = 0; b < 8; b++) spread[v] |= (uint64_t)(v >> b & 1) << (8 * b);
    }
    uint64_t *small = calloc((size_t)bytes + 1, sizeof *small); /* at least one, as calloc may give nothing for 0 */
    Py_ssize_t wrong = small ? -1 : -2;
    for (Py_ssize_t first = 0; first < n && wrong == -1; first += 255) {
        Py_ssize_t last = first + 255 < n ? first + 255 : n;
        for (Py_ssize_t i = first; i < last; i++) {
            const uint8_t *row = bits + i * bytes;
            uint64_t held = 0; /* eight partial sums of ones, one in each byte; exact up to 255 bytes a turn */
            int64_t ones = 0;
            for (Py_ssize_t b = 0; b < bytes; b++) {
                small[b] += spread[row[b]];
                held += spread[row[b]];
                if (b % 255 == 254 || b == bytes - 1) {
                    for (int l = 0; l < 8; l++) ones += (int64_t)(held >> (8 * l) & 255);
                    held = 0;
                }
            }
            if (size >= 0 && ones != size && wrong == -1) wrong = i;
        }
        for (Py_ssize_t c = 0; c < k; c++) counts[c] += (int64_t)(small[c >> 3] >> (8 * (c & 7)) & 255);
        memset(small, 0, (size_t)bytes * sizeof *small);
    }
    free(small);
    return wrong;
}

/* A number of categories or a size that fits one random word, or an error: PyArg_ParseTuple would cut it down. */
static int fits_word(unsigned long long number) {
    if (number >= 1 && number < (1ull << 32)) return 1;
    PyErr_SetString(PyExc_OverflowError, "a number of categories must be from 1 to 2**32 - 1");
    return 0;
}

/* ---- doorway from Python: buffers in, counts of unsettled rows out ---------------------------------------------- */

enum { MAX_BUFFERS = 8 };

typedef struct {
    Py_buffer view[MAX_BUFFERS];
    int held;
} Buffers;

static int refused(const char *what) {
    PyErr_SetString(PyExc_ValueError, what);
    return 0;
}

/* Whether items are integers as this machine stores them: a pointer that is written over would be followed later. */
static int holds_integers(const char *format) {
    if (!format) return 1; /* bytes */
    if (*format == '@' || *format == '=' || *format == '<') format++;
    return *format && !format[1] && strchr("bBhHiIlLqQ", *format);
}

/* One buffer of so many dimensions, with items of `size` bytes (0: any width of codes), laid out as C reads them. */
static int take(Buffers *b, PyObject *object, int flags, int dimensions, int size) {
    Py_buffer *view = &b->view[b->held];
    if (PyObject_GetBuffer(object, view, flags | PyBUF_FORMAT) < 0) return 0;
    b->held++;
    if (!holds_integers(view->format)) return refused("an array does not hold integers of this machine");
    Py_ssize_t item = view->itemsize;
    if (view->ndim != dimensions) return refused("an array has another number of dimensions");
    if (size ? item != size : item != 1 && item != 2 && item != 4 && item != 8)
        return refused("the items of an array have another size");
    if (view->len && (uintptr_t)view->buf % (size_t)item) return refused("an array is not aligned");
    return 1;
}

/* Whether a view that is written shares memory with another. Rows of words may lie apart: theirs is taken as far as it
 * reaches. */
static int overlap(const Py_buffer *a, const Py_buffer *b) {
    const char *a_first = a->buf, *b_first = b->buf, *b_last = b_first + b->len;
    if (!a->len || !b->len) return 0;
    if (b->ndim == 2 && b->strides) {
        Py_ssize_t reach = (b->shape[0] - 1) * b->strides[0];
        b_last = b_first + (reach > 0 ? reach : 0) + b->shape[1] * b->itemsize;
        b_first += reach < 0 ? reach : 0;
    }
    return a_first < b_last && b_first < a_first + a->len;
}

static int written_apart(const Buffers *b, int written) {
    for (int other = 0; other < b->held; other++)
        if (other != written && overlap(&b->view[written], &b->view[other]))
            return refused("an array that is written overlaps another");
    return 1;
}

static void give_back(Buffers *b) {
    while (b->held) PyBuffer_Release(&b->view[--b->held]);
}

/* Takes codes, words, out and unsettled: as many of each as there are codes, `columns` words in a row, and reports of
 * `bytes` bytes (0: codes). Reports are written to memory of their own. */
static int take_all(Buffers *b, PyObject *codes, PyObject *words, PyObject *out, PyObject *unsettled, size_t columns,
                    size_t bytes) {
    if (!take(b, codes, PyBUF_CONTIG_RO, 1, 0) || !take(b, words, PyBUF_STRIDED_RO, 2, 4) ||
        !take(b, out, PyBUF_CONTIG, bytes ? 2 : 1, bytes ? 1 : 0) || !take(b, unsettled, PyBUF_CONTIG, 1, 8))
        return 0;
    Py_ssize_t n = b->view[0].shape[0];
    const Py_buffer *drawn = &b->view[1], *made = &b->view[2];
    if (drawn->shape[0] < n || made->shape[0] < n || b->view[3].shape[0] < n) return refused("an array is too short");
    if ((size_t)drawn->shape[1] < columns || (n && drawn->shape[1] > 1 && drawn->strides[1] != 4) ||
        (n > 1 && drawn->strides[0] % 4))
        return refused("the words of a row are too few, or lie apart");
    if (bytes && (size_t)made->shape[1] != bytes) return refused("the reports have another width");
    return written_apart(b, 2) && written_apart(b, 3);
}

static PyObject *give_back_all(Buffers *b, Py_ssize_t found) {
    give_back(b);
    if (found >= 0) return PyLong_FromSsize_t(found);
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "a code is not below the number of categories");
    return NULL;
}

/* Whether all codes are below k: a loop for each width, which compilers turn into vectors; none where the type says so. */
#define ALL_BELOW(type)                                                             \
    static int all_below_##type(const type *codes, Py_ssize_t n, uint64_t k) {      \
        type most = 0;                                                              \
        if (!n || k > (type)-1) return 1;                                           \
        for (Py_ssize_t i = 0; i < n; i++) most = codes[i] > most ? codes[i] : most; \
        return most < k;                                                            \
    }
ALL_BELOW(uint8_t)
ALL_BELOW(uint16_t)
ALL_BELOW(uint32_t)
ALL_BELOW(uint64_t)

static int codes_below(const Py_buffer *codes, uint64_t k) {
    switch (codes->itemsize) {
        case 1: return all_below_uint8_t(codes->buf, codes->shape[0], k);
        case 2: return all_below_uint16_t(codes->buf, codes->shape[0], k);
        case 4: return all_below_uint32_t(codes->buf, codes->shape[0], k);
        default: return all_below_uint64_t(codes->buf, codes->shape[0], k);
    }
}

#define WORDS(b) ((const uint32_t *)(b).view[1].buf)
#define STRIDE(b) ((b).view[1].shape[0] > 1 ? (b).view[1].strides[0] / 4 : 0)
#define SIZE(b, v) ((int)(b).view[v].itemsize)
#define ROWS(b) ((b).view[0].shape[0])
#define COLUMNS(b) ((b).view[1].shape[1])

static PyObject *py_uniform(PyObject *self, PyObject *args) {
    PyObject *codes, *words, *out, *unsettled;
    unsigned long long k, threshold;
    Buffers b = {.held = 0};
    Py_ssize_t found;
    if (!PyArg_ParseTuple(args, "OOKKOO", &codes, &words, &k, &threshold, &out, &unsettled)) return NULL;
    if (!fits_word(k)) return NULL;
    if (!take_all(&b, codes, words, out, unsettled, 2, 0)) return give_back_all(&b, -1);
    if (SIZE(b, 0) != SIZE(b, 2)) {
        refused("codes and reports have items of different sizes");
        return give_back_all(&b, -1);
    }
    Py_BEGIN_ALLOW_THREADS
    found = uniform(b.view[0].buf, SIZE(b, 0), WORDS(b), STRIDE(b), COLUMNS(b), ROWS(b), (uint32_t)k, threshold,
                    b.view[2].buf, b.view[3].buf);
    Py_END_ALLOW_THREADS
    return give_back_all(&b, found);
}

static PyObject *py_categorical(PyObject *self, PyObject *args) {
    PyObject *columns, *words, *thresholds, *guide, *out, *unsettled;
    int guide_bits;
    Buffers b = {.held = 0};
    Py_ssize_t found = -1;
    if (!PyArg_ParseTuple(args, "OOOOiOO", &columns, &words, &thresholds, &guide, &guide_bits, &out, &unsettled))
        return NULL;
    if (!take_all(&b, columns, words, out, unsettled, 2, 0) || !take(&b, thresholds, PyBUF_CONTIG_RO, 2, 8) ||
        !take(&b, guide, PyBUF_CONTIG_RO, 1, 4) || !written_apart(&b, 2) || !written_apart(&b, 3))
        return give_back_all(&b, -1);
    Py_ssize_t k = b.view[4].shape[0], per_column = b.view[4].shape[1];
    if (guide_bits < 1 || guide_bits > 31 || per_column > UINT32_MAX || b.view[5].shape[0] >> guide_bits < k) {
        refused("the guide has another number of lines");
        return give_back_all(&b, -1);
    }
    Py_BEGIN_ALLOW_THREADS
    if (codes_below(&b.view[0], (uint64_t)k))
        found = categorical(b.view[0].buf, SIZE(b, 0), WORDS(b), STRIDE(b), ROWS(b), b.view[4].buf,
                            (uint32_t)per_column, b.view[5].buf, guide_bits, b.view[2].buf, SIZE(b, 2),
                            b.view[3].buf);
    Py_END_ALLOW_THREADS
    return give_back_all(&b, found);
}

static PyObject *py_listed(PyObject *self, PyObject *args) {
    PyObject *codes, *words, *columns, *thresholds, *guide, *reports, *out, *unsettled;
    Buffers b = {.held = 0};
    Py_ssize_t found = -1;
    if (!PyArg_ParseTuple(args, "OOOOOOOO", &codes, &words, &columns, &thresholds, &guide, &reports, &out, &unsettled))
        return NULL;
    if (!take_all(&b, codes, words, out, unsettled, 2, 0) || !take(&b, columns, PyBUF_CONTIG_RO, 2, 8) ||
        !take(&b, thresholds, PyBUF_CONTIG_RO, 1, 8) || !take(&b, guide, PyBUF_CONTIG_RO, 1, 4) ||
        !take(&b, reports, PyBUF_CONTIG_RO, 1, 4) || !written_apart(&b, 2) || !written_apart(&b, 3))
        return give_back_all(&b, -1);
    if (b.view[4].shape[1] != sizeof(Column) / 8 || b.view[5].shape[0] != b.view[7].shape[0]) {
        refused("the tables of columns do not belong together");
        return give_back_all(&b, -1);
    }
    Py_BEGIN_ALLOW_THREADS
    if (codes_below(&b.view[0], (uint64_t)b.view[4].shape[0]))
        found = listed(b.view[0].buf, SIZE(b, 0), WORDS(b), STRIDE(b), ROWS(b), b.view[4].buf, b.view[4].shape[0],
                       b.view[5].buf, b.view[6].buf, b.view[7].buf, b.view[2].buf, SIZE(b, 2), b.view[3].buf);
    Py_END_ALLOW_THREADS
    return give_back_all(&b, found);
}

static PyObject *py_subset(PyObject *self, PyObject *args) {
    PyObject *codes, *words, *out, *unsettled;
    unsigned long long k, size, threshold;
    int coin, memory = 1;
    Buffers b = {.held = 0};
    Py_ssize_t found = -1;
    if (!PyArg_ParseTuple(args, "OOKKpKOO", &codes, &words, &k, &size, &coin, &threshold, &out, &unsettled))
        return NULL;
    if (!fits_word(k) || !fits_word(size)) return NULL;
    if (size > k - (coin ? 1 : 0)) {
        PyErr_SetString(PyExc_ValueError, "a set is larger than what it is drawn from");
        return NULL;
    }
    size_t columns = (size_t)(coin ? size + 2 : size - 1);
    if (!take_all(&b, codes, words, out, unsettled, columns, ((size_t)k + 7) / 8)) return give_back_all(&b, -1);
    Py_BEGIN_ALLOW_THREADS
    if (codes_below(&b.view[0], k)) {
        size_t whole = ((size_t)k + 63) / 64;
        uint8_t *scratch = malloc(whole * (LANES * 64 + 8));
        memory = scratch != NULL;
        if (scratch) {
            Sets s = {.k = (uint32_t)k, .size = (uint32_t)size, .coin = coin, .threshold = threshold, .mask = (uint64_t *)(void *)scratch};
            for (int l = 0; l < LANES; l++) s.chosen[l] = scratch + whole * (8 + 64 * (size_t)l);
            found = (k <= FEW ? few : subset)(&s, b.view[0].buf, SIZE(b, 0), WORDS(b), STRIDE(b), COLUMNS(b), ROWS(b),
                                              b.view[2].buf, b.view[3].buf);
        }
        free(scratch);
    }
    Py_END_ALLOW_THREADS
    if (!memory) PyErr_NoMemory();
    return give_back_all(&b, found);
}

static PyObject *py_unary(PyObject *self, PyObject *args) {
    PyObject *codes, *words, *out, *unsettled;
    unsigned long long k, keep_digits, flip_digits;
    int keep_ends, flip_ends;
    Buffers b = {.held = 0};
    Py_ssize_t found = -1;
    if (!PyArg_ParseTuple(args, "OOKKpKpOO", &codes, &words, &k, &keep_digits, &keep_ends, &flip_digits, &flip_ends,
                          &out, &unsettled))
        return NULL;
    if (!fits_word(k)) return NULL;
    if (!take_all(&b, codes, words, out, unsettled, ((size_t)k + 1) / 2 + 1, ((size_t)k + 7) / 8))
        return give_back_all(&b, -1);
    const Bit keep = {.digits = keep_digits, .ends = keep_ends}, flip = {.digits = flip_digits, .ends = flip_ends};
    Py_BEGIN_ALLOW_THREADS
    if (codes_below(&b.view[0], k))
        found = unary(b.view[0].buf, SIZE(b, 0), WORDS(b), STRIDE(b), COLUMNS(b), ROWS(b), (uint32_t)k, &keep, &flip,
                      b.view[2].buf, b.view[3].buf);
    Py_END_ALLOW_THREADS
    return give_back_all(&b, found);
}

static PyObject *py_tally_codes(PyObject *self, PyObject *args) {
    PyObject *codes, *counts, *done;
    Buffers b = {.held = 0};
    Py_ssize_t found;
    if (!PyArg_ParseTuple(args, "OO", &codes, &counts)) return NULL;
    if (!take(&b, codes, PyBUF_CONTIG_RO, 1, 0) || !take(&b, counts, PyBUF_CONTIG, 1, 8) || !written_apart(&b, 1))
        return give_back_all(&b, -1);
    if (SIZE(b, 0) != 1 && SIZE(b, 0) != 4) {
        refused("codes to be counted have 1 or 4 bytes");
        return give_back_all(&b, -1);
    }
    Py_BEGIN_ALLOW_THREADS
    if (SIZE(b, 0) == 1) found = tally_bytes(b.view[0].buf, ROWS(b), b.view[1].buf, b.view[1].shape[0]);
    else found = tally_wide(b.view[0].buf, ROWS(b), b.view[1].buf, b.view[1].shape[0]);
    Py_END_ALLOW_THREADS
    done = give_back_all(&b, found);
    if (!done) return NULL;
    Py_DECREF(done);
    Py_RETURN_NONE;
}

static PyObject *py_tally_bits(PyObject *self, PyObject *args) {
    PyObject *bits, *counts;
    long long size;
    Buffers b = {.held = 0};
    Py_ssize_t wrong;
    if (!PyArg_ParseTuple(args, "OLO", &bits, &size, &counts)) return NULL;
    if (!take(&b, bits, PyBUF_CONTIG_RO, 2, 1) || !take(&b, counts, PyBUF_CONTIG, 1, 8) || !written_apart(&b, 1))
        return give_back_all(&b, -1);
    if ((b.view[1].shape[0] + 7) / 8 != b.view[0].shape[1]) {
        refused("the reports have another width");
        return give_back_all(&b, -1);
    }
    Py_BEGIN_ALLOW_THREADS
    wrong = tally_bits(b.view[0].buf, ROWS(b), b.view[0].shape[1], b.view[1].shape[0], size, b.view[1].buf);
    Py_END_ALLOW_THREADS
    give_back(&b);
    return wrong == -2 ? PyErr_NoMemory() : PyLong_FromSsize_t(wrong);
}

static PyMethodDef methods[] = {
    {"uniform", py_uniform, METH_VARARGS, "uniform(codes, words, k, threshold, out, unsettled) -> rows unsettled"},
    {"categorical", py_categorical, METH_VARARGS,
     "categorical(columns, words, thresholds, guide, guide_bits, out, unsettled) -> rows unsettled"},
    {"listed", py_listed, METH_VARARGS,
     "listed(codes, words, columns, thresholds, guide, reports, out, unsettled) -> rows unsettled"},
    {"subset", py_subset, METH_VARARGS,
     "subset(codes, words, k, size, coin, threshold, out, unsettled) -> rows unsettled"},
    {"unary", py_unary, METH_VARARGS,
     "unary(codes, words, k, keep, keep_ends, flip, flip_ends, out, unsettled) -> rows unsettled"},
    {"tally_codes", py_tally_codes, METH_VARARGS, "tally_codes(codes, counts)"},
    {"tally_bits", py_tally_bits, METH_VARARGS, "tally_bits(bits, size, counts) -> first row of another size, or -1"},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_compiled", "Compiled sampling and tally kernels.", -1,
                                    methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__compiled(void) { return PyModule_Create(&module); }
