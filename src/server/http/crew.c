/*
 * crew.c - threads that carry out turns of chats.
 *
 *      take ─► waits ─► a thread of the crew ─► over ─► who waits for it is
 *                └── the server stops ────────►─┘       woken
 *
 * WHY  A turn takes as long as models think, and a chat is at work on the
 *      thread of its caller. The threads of requests are few and for what is
 *      soon done. So turns have threads of their own, which come and go with
 *      them, up to a limit; what comes beyond it waits, and what comes beyond
 *      that is refused.
 *
 * INVARIANTS
 *   C1  A session has one job here. Who wants another one is told so before
 *       anything is said.
 *   C2  A job lives until it is over, and nobody asks for it any more.
 */
#include "http.h"

#define MAX_THREADS 32  /* turns at once: each may have a model at work */
#define MAX_JOBS    128 /* with those that wait */

struct pdr__crew {
    struct pdr__live *live; /* borrowed */
    pthread_mutex_t lock;
    /* Guarded by lock. */
    struct pdr__job *jobs[MAX_JOBS]; /* that are not over, in order */
    size_t count;
    unsigned threads;
    bool is_closed;
};

pdr_rc pdr__crew_new(struct pdr__crew **out, struct pdr__live *live,
                     pdr_err *err)
{
    struct pdr__crew *crew = pdr__calloc(1, sizeof(*crew));

    *out = crew;
    if (crew == NULL)
        return pdr__nomem(err);
    crew->live = live;
    (void)pthread_mutex_init(&crew->lock, NULL);
    return PDR_OK;
}

void pdr__crew_free(struct pdr__crew *crew)
{
    if (crew == NULL)
        return;
    (void)pthread_mutex_destroy(&crew->lock);
    pdr__free(crew);
}

/* Release the lock, and the job if that was its last holder. */
static void job_give(struct pdr__crew *crew, struct pdr__job *job)
{
    const bool is_last = --job->holders == 0;

    (void)pthread_mutex_unlock(&crew->lock);
    if (is_last)
        job->dispose(job);
}

/* It is over. With the lock held, which is released. */
static void job_end(struct pdr__crew *crew, struct pdr__job *job)
{
    size_t at = 0;

    while (crew->jobs[at] != job)
        at++;
    crew->count--;
    memmove(&crew->jobs[at], &crew->jobs[at + 1],
            (crew->count - at) * sizeof(struct pdr__job *));
    job->is_over = true;
    if (job->waiter != NULL)
        pdr__live_wake(crew->live, job->waiter);
    job_give(crew, job);
}

/* The first that waits; NULL: none does. With the lock held. */
static struct pdr__job *job_next(struct pdr__crew *crew)
{
    for (size_t i = 0; i < crew->count; i++) {
        if (!crew->jobs[i]->has_begun)
            return crew->jobs[i];
    }
    return NULL;
}

/* A thread: it goes when nothing waits. */
static void *crew_work(void *arg)
{
    struct pdr__crew *crew = arg;
    struct pdr__job *job = NULL;

    (void)pthread_detach(pthread_self());
    (void)pthread_mutex_lock(&crew->lock);
    while ((job = job_next(crew)) != NULL) {
        job->has_begun = true;
        (void)pthread_mutex_unlock(&crew->lock);
        job->work(job);
        (void)pthread_mutex_lock(&crew->lock);
        job_end(crew, job);
        (void)pthread_mutex_lock(&crew->lock);
    }
    crew->threads--;
    (void)pthread_mutex_unlock(&crew->lock);
    return NULL;
}

/* May it be taken? With the lock held. */
static pdr_rc job_check(const struct pdr__crew *crew,
                        const struct pdr__job *job, pdr_err *err)
{
    for (size_t i = 0; i < crew->count; i++) {
        if (pdr_str_equal(crew->jobs[i]->ref.id, job->ref.id) &&
            pdr_str_equal(crew->jobs[i]->ref.tenant, job->ref.tenant))
            return PDR_FAIL(err, CHAT_BUSY, "%s",
                            "a turn is at work on the chat: wait for its end");
    }
    if (crew->is_closed)
        return PDR_FAIL(err, ENGINE_STOPPED, "%s", "the server stops");
    if (crew->count == MAX_JOBS)
        return PDR_FAIL(err, INBOX_FULL, "%s",
                        "too many turns wait for others: try again later");
    return PDR_OK;
}

pdr_rc pdr__crew_take(struct pdr__crew *crew, struct pdr__job *job,
                      struct pdr__exchange *x, pdr_err *err)
{
    pthread_t thread;
    pdr_rc rc = PDR_OK;

    (void)pthread_mutex_lock(&crew->lock);
    PDR_TRY(job_check(crew, job, err));
    if (crew->threads < MAX_THREADS &&
        pdr__thread_start(&thread, crew_work, crew))
        crew->threads++;
    if (crew->threads == 0)
        PDR_TRY(PDR_FAIL(err, NO_THREAD, "%s",
                         "the system has no thread for a turn"));
    crew->jobs[crew->count++] = job;
    job->holders = 2;
    job->waiter = x;
done:
    (void)pthread_mutex_unlock(&crew->lock);
    return rc;
}

bool pdr__job_is_over(struct pdr__crew *crew, const struct pdr__job *job)
{
    bool is_over = false;

    (void)pthread_mutex_lock(&crew->lock);
    is_over = job->is_over;
    (void)pthread_mutex_unlock(&crew->lock);
    return is_over;
}

void pdr__job_leave(struct pdr__crew *crew, struct pdr__job *job)
{
    (void)pthread_mutex_lock(&crew->lock);
    job->waiter = NULL;
    job_give(crew, job);
}

void pdr__crew_close(struct pdr__crew *crew)
{
    struct pdr__job *job = NULL;

    (void)pthread_mutex_lock(&crew->lock);
    crew->is_closed = true;
    while ((job = job_next(crew)) != NULL) {
        job_end(crew, job);
        (void)pthread_mutex_lock(&crew->lock);
    }
    (void)pthread_mutex_unlock(&crew->lock);
}

void pdr__crew_stop(struct pdr__crew *crew, int64_t due_ms)
{
    bool is_empty = false;

    while (!is_empty) {
        const bool cuts = pdr__monotonic_ms(pdr__clock_system()) >= due_ms;

        (void)pthread_mutex_lock(&crew->lock);
        is_empty = crew->threads == 0;
        for (size_t i = 0; cuts && i < crew->count; i++)
            pdr_cancel_set(crew->jobs[i]->cancel);
        (void)pthread_mutex_unlock(&crew->lock);
        if (!is_empty)
            pdr__nap(5);
    }
}
