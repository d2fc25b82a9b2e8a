/*
 * crew.c - threads that carry out turns of chats.
 *
 *      take ─► waits ─► a thread of the crew ─► over ─► who waits for it is
 *                │                                ▲     woken
 *                └── the server stops: refused ───┘
 *
 * WHY  A turn takes as long as models think, and holds a thread meanwhile: a
 *      chat is at work on the thread of its caller. The threads of requests
 *      are few and for what is soon done. So turns have threads of their own,
 *      which are started when they are needed, up to a limit; what comes
 *      beyond it waits, and what comes beyond that is refused.
 *
 * INVARIANTS
 *   C1  A session has one job here. Who wants another one is told so before
 *       anything is said.
 *   C2  A job that was taken is carried out or refused, whether somebody waits
 *       for it or not. It lives until it is over and nobody asks for it.
 */
#include "http.h"

#define MAX_THREADS 32  /* turns at once: each may have a model at work */
#define MAX_JOBS    288 /* with those that wait */

struct pdr__crew {
    pdr_server *server;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* there is a job, or it ends */
    /* Guarded by lock. */
    struct pdr__job *jobs[MAX_JOBS]; /* that are not over, in order */
    size_t job_count;
    size_t waiting;                 /* of them, that have not begun */
    pthread_t threads[MAX_THREADS]; /* the first `thread_count` */
    unsigned thread_count, idle;
    bool is_closed, is_ending;
};

pdr_rc pdr__crew_new(struct pdr__crew **out, pdr_server *server, pdr_err *err)
{
    struct pdr__crew *crew = pdr__calloc(1, sizeof(*crew));

    *out = crew;
    if (crew == NULL)
        return pdr__nomem(err);
    crew->server = server;
    (void)pthread_mutex_init(&crew->lock, NULL);
    (void)pthread_cond_init(&crew->changed, NULL);
    return PDR_OK;
}

void pdr__crew_free(struct pdr__crew *crew)
{
    if (crew == NULL)
        return;
    (void)pthread_mutex_lock(&crew->lock);
    crew->is_ending = true;
    (void)pthread_cond_broadcast(&crew->changed);
    (void)pthread_mutex_unlock(&crew->lock);
    for (unsigned i = 0; i < crew->thread_count; i++)
        (void)pthread_join(crew->threads[i], NULL);
    (void)pthread_cond_destroy(&crew->changed);
    (void)pthread_mutex_destroy(&crew->lock);
    pdr__free(crew);
}

/* --- jobs ------------------------------------------------------------------
 * With the lock held.
 */

/* Nobody asks for it, and it is over: it is the caller's to dispose of. */
static bool job_drop(struct pdr__job *job)
{
    return --job->holders == 0;
}

/* It is over. Gives whether to dispose of it, without the lock. */
static bool job_end(struct pdr__crew *crew, struct pdr__job *job)
{
    size_t at = 0;

    while (crew->jobs[at] != job)
        at++;
    crew->job_count--;
    memmove(&crew->jobs[at], &crew->jobs[at + 1],
            (crew->job_count - at) * sizeof(struct pdr__job *));
    job->is_over = true;
    if (job->waiter != NULL)
        pdr__live_wake(crew->server->live, job->waiter);
    return job_drop(job);
}

/* The first that waits; NULL: none does. */
static struct pdr__job *job_begin(struct pdr__crew *crew)
{
    for (size_t i = 0; crew->waiting > 0 && i < crew->job_count; i++) {
        struct pdr__job *job = crew->jobs[i];

        if (job->has_begun)
            continue;
        job->has_begun = true;
        crew->waiting--;
        return job;
    }
    return NULL;
}

static void *crew_work(void *arg)
{
    struct pdr__crew *crew = arg;

    (void)pthread_mutex_lock(&crew->lock);
    while (!crew->is_ending) {
        struct pdr__job *job = job_begin(crew);
        bool is_last = false;

        if (job == NULL) {
            crew->idle++;
            (void)pthread_cond_wait(&crew->changed, &crew->lock);
            crew->idle--;
            continue;
        }
        (void)pthread_mutex_unlock(&crew->lock);
        job->work(job);
        (void)pthread_mutex_lock(&crew->lock);
        is_last = job_end(crew, job);
        (void)pthread_mutex_unlock(&crew->lock);
        if (is_last)
            job->dispose(job);
        (void)pthread_mutex_lock(&crew->lock);
    }
    (void)pthread_mutex_unlock(&crew->lock);
    return NULL;
}

/* One thread more, if those that are idle are too few. */
static bool thread_add(struct pdr__crew *crew)
{
    if (crew->idle >= crew->waiting || crew->thread_count == MAX_THREADS)
        return true;
    if (pdr__thread_start(&crew->threads[crew->thread_count], crew_work, crew))
        crew->thread_count++;
    return crew->thread_count > 0;
}

pdr_rc pdr__crew_take(struct pdr__crew *crew, struct pdr__job *job,
                      struct pdr__exchange *x, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    (void)pthread_mutex_lock(&crew->lock);
    for (size_t i = 0; rc == PDR_OK && i < crew->job_count; i++) {
        if (pdr_str_equal(crew->jobs[i]->ref.id, job->ref.id) &&
            pdr_str_equal(crew->jobs[i]->ref.tenant, job->ref.tenant))
            rc = PDR_FAIL(err, CHAT_BUSY, "%s",
                          "a turn is at work on the chat: wait for its end");
    }
    if (rc == PDR_OK && crew->is_closed)
        rc = PDR_FAIL(err, ENGINE_STOPPED, "%s", "the server stops");
    if (rc == PDR_OK && crew->job_count == MAX_JOBS)
        rc = PDR_FAIL(err, INBOX_FULL, "%s",
                      "too many turns wait for others to end: try again later");
    if (rc == PDR_OK) {
        crew->jobs[crew->job_count++] = job;
        crew->waiting++;
        if (thread_add(crew)) {
            job->holders = 2;
            job->waiter = x;
            (void)pthread_cond_signal(&crew->changed);
        } else {
            crew->job_count--;
            crew->waiting--;
            rc = PDR_FAIL(err, NO_THREAD, "%s",
                          "the system has no thread for a turn");
        }
    }
    (void)pthread_mutex_unlock(&crew->lock);
    return rc;
}

enum pdr__job_end pdr__job_look(struct pdr__crew *crew, struct pdr__job *job)
{
    enum pdr__job_end end = PDR_JOB_GOES_ON;

    (void)pthread_mutex_lock(&crew->lock);
    if (job->is_over)
        end = !job->has_begun ? PDR_JOB_REFUSED
              : job->is_cut   ? PDR_JOB_CUT
                              : PDR_JOB_DONE;
    (void)pthread_mutex_unlock(&crew->lock);
    return end;
}

void pdr__job_leave(struct pdr__crew *crew, struct pdr__job *job)
{
    bool is_last = false;

    (void)pthread_mutex_lock(&crew->lock);
    job->waiter = NULL;
    is_last = job_drop(job);
    (void)pthread_mutex_unlock(&crew->lock);
    if (is_last)
        job->dispose(job);
}

/* --- stopping --------------------------------------------------------------
 */

void pdr__crew_close(struct pdr__crew *crew)
{
    struct pdr__job *job = NULL, *last[MAX_JOBS];
    size_t count = 0;

    (void)pthread_mutex_lock(&crew->lock);
    crew->is_closed = true;
    while ((job = job_begin(crew)) != NULL) {
        job->has_begun = false;
        if (job_end(crew, job))
            last[count++] = job;
    }
    (void)pthread_mutex_unlock(&crew->lock);
    for (size_t i = 0; i < count; i++)
        last[i]->dispose(last[i]);
}

void pdr__crew_stop(struct pdr__crew *crew, int64_t due_ms)
{
    bool is_empty = false;

    while (!is_empty) {
        const bool cuts = pdr__monotonic_ms(pdr__clock_system()) >= due_ms;

        (void)pthread_mutex_lock(&crew->lock);
        is_empty = crew->job_count == 0;
        for (size_t i = 0; cuts && i < crew->job_count; i++) {
            crew->jobs[i]->is_cut = true;
            pdr_cancel_set(crew->jobs[i]->cancel);
        }
        (void)pthread_mutex_unlock(&crew->lock);
        if (!is_empty)
            pdr__nap(5);
    }
}
