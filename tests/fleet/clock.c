/* Another clock for the programs that are started with it in LD_PRELOAD: the wall clock is ahead by
 * PLATESTREAM_TEST_CLOCK_AHEAD_MS, everything else is as it is.
 *
 * libfaketime 0.9.10 answers waits, too: every sleep was refused with the monotonic clock left alone,
 * and a call in another thread took three times as long.
 */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static const long SECOND_NS = 1000000000L;
static long ahead_ms;
static int (*real_clock_gettime)(clockid_t, struct timespec *);

__attribute__((constructor)) static void begin(void) {
    const char *ahead = getenv("PLATESTREAM_TEST_CLOCK_AHEAD_MS");
    ahead_ms = ahead ? atol(ahead) : 0;
    real_clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
}

int clock_gettime(clockid_t id, struct timespec *now) {
    if (!real_clock_gettime)
        begin();
    int failed = real_clock_gettime(id, now);
    if (!failed && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) {
        long ns = now->tv_nsec + ahead_ms % 1000 * 1000000L;
        now->tv_sec += ahead_ms / 1000 + ns / SECOND_NS;
        now->tv_nsec = ns % SECOND_NS;
    }
    return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec precise;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &precise))
        return -1;
    now->tv_sec = precise.tv_sec;
    now->tv_usec = precise.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *into) {
    struct timespec precise;
    if (clock_gettime(CLOCK_REALTIME, &precise))
        return (time_t)-1;
    if (into)
        *into = precise.tv_sec;
    return precise.tv_sec;
}
