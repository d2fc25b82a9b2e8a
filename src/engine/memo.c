/*
 * memo.c - what is kept of sessions that have just run.
 *
 *      run ends ─► newest ◄─► ... ◄─► oldest ─► forgotten
 *                    └─► the next claim takes it out
 *
 * WHY  The next turn of a conversation often comes soon, and to the same
 *      process. What its run would read first is what the last one had. So a
 *      kind of session may leave it here.
 *
 * INVARIANTS
 *   M1  It is used only if the claim commits to the session as it was left: the
 *       store compares. What somebody else changed is read anew.
 *   M2  All of it together takes `keep_bytes` at most, the oldest goes first.
 */
#include "engine.h"

/* Out of the list. */
static void memo_unlink(pdr_engine *e, struct pdr__memo *memo)
{
    struct pdr__memos *memos = &e->memos;

    (void)pdr__map_remove(NULL, &memos->by_key, memo->key);
    *(memo->newer != NULL ? &memo->newer->older : &memos->newest) = memo->older;
    *(memo->older != NULL ? &memo->older->newer : &memos->oldest) = memo->newer;
    memo->newer = memo->older = NULL;
    memos->bytes -= memo->bytes;
}

struct pdr__memo *pdr__memo_take(pdr_engine *e, pdr_str key)
{
    void *found = NULL;

    if (!pdr__map_get(&found, &e->memos.by_key, key))
        return NULL;
    memo_unlink(e, found);
    return found;
}

struct pdr__memo *pdr__memo_put(pdr_engine *e, struct pdr__memo *memo)
{
    struct pdr__memos *memos = &e->memos;
    struct pdr__memo *gone = pdr__memo_take(e, memo->key), *oldest = NULL;

    if (e->is_over || memo->bytes > e->opts.keep_bytes / 4 ||
        pdr__map_put(NULL, &memos->by_key, memo->key, memo, NULL) != PDR_OK) {
        memo->older = gone;
        return memo;
    }
    memo->older = memos->newest;
    *(memos->newest != NULL ? &memos->newest->newer : &memos->oldest) = memo;
    memos->newest = memo;
    memos->bytes += memo->bytes;
    while (memos->bytes > e->opts.keep_bytes) { /* M2 */
        oldest = memos->oldest;
        memo_unlink(e, oldest);
        oldest->older = gone;
        gone = oldest;
    }
    return gone;
}

struct pdr__memo *pdr__memo_take_all(pdr_engine *e)
{
    struct pdr__memo *all = NULL, *newest = NULL;

    while ((newest = e->memos.newest) != NULL) {
        memo_unlink(e, newest);
        newest->older = all;
        all = newest;
    }
    return all;
}

struct pdr__memo *pdr__memo_new(const pdr_task *task, void *value,
                                const pdr_head *head, size_t bytes)
{
    struct pdr__memo *memo = pdr__calloc(1, sizeof(*memo) + task->key.len);

    if (memo == NULL)
        return NULL;
    memcpy(memo->room, task->key.ptr, task->key.len);
    memo->key = pdr_str_n(memo->room, task->key.len);
    memo->kind = task->kind;
    memo->value = value;
    memo->head = head;
    memo->bytes = sizeof(*memo) + 2 * task->key.len + bytes;
    return memo;
}

void pdr__memo_free(struct pdr__memo *memo)
{
    while (memo != NULL) {
        struct pdr__memo *next = memo->older;

        if (memo->value != NULL)
            memo->kind->ops->forget(memo->value, memo->kind->self);
        pdr__free(memo);
        memo = next;
    }
}
