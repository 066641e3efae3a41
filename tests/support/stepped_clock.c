/* Put the wall clock of a process ahead by the seconds in the file STEPPED_CLOCK, a `long`.
 *
 * Preload it with LD_PRELOAD. A write to the file takes effect at once, also for waits until a
 * wall-clock time. Monotonic clocks stay as they are.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define LEAST_WALL_CLOCK_S 1000000000 /* a monotonic clock shows less */
#define LOOK_EVERY_NS 50000000

static volatile const long *ahead_s;

__attribute__((constructor)) static void open_clock(void)
{
    const char *name = getenv("STEPPED_CLOCK");
    int file = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
    void *found = mmap(NULL, sizeof(long), PROT_READ, MAP_SHARED, file, 0);
    if (found != MAP_FAILED)
        ahead_s = found;
    close(file);
}

int clock_gettime(clockid_t id, struct timespec *at)
{
    int failed = syscall(SYS_clock_gettime, id, at);
    if (!failed && ahead_s && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
        at->tv_sec += *ahead_s;
    return failed;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone)
{
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    at->tv_sec = now.tv_sec;
    at->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *at)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return at ? (*at = now.tv_sec) : now.tv_sec;
}

int timespec_get(struct timespec *at, int base)
{
    return base == TIME_UTC && !clock_gettime(CLOCK_REALTIME, at) ? base : 0;
}

static int before(const struct timespec *one, const struct timespec *other)
{
    return one->tv_sec != other->tv_sec ? one->tv_sec < other->tv_sec : one->tv_nsec < other->tv_nsec;
}

int pthread_cond_timedwait(pthread_cond_t *restrict met, pthread_mutex_t *restrict lock,
                           const struct timespec *restrict until)
{
    static int (*wait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    struct timespec now, look;
    int failed;
    if (!wait && !(wait = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2")))
        wait = dlsym(RTLD_NEXT, "pthread_cond_timedwait");
    if (!ahead_s || until->tv_sec < LEAST_WALL_CLOCK_S)
        return wait(met, lock, until);
    for (;;) { /* in short waits, since the clock may step meanwhile */
        clock_gettime(CLOCK_REALTIME, &now);
        look = now;
        look.tv_nsec += LOOK_EVERY_NS;
        if (look.tv_nsec >= 1000000000)
            look.tv_sec++, look.tv_nsec -= 1000000000;
        if (!before(&look, until))
            look = *until;
        look.tv_sec -= *ahead_s;
        failed = wait(met, lock, &look);
        if (failed != ETIMEDOUT)
            return failed;
        clock_gettime(CLOCK_REALTIME, &now);
        if (!before(&now, until))
            return ETIMEDOUT;
    }
}
