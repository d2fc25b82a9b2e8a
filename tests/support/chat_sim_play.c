/*
 * chat_sim_play.c - one play: operations on a chat, one after the other, and
 * what must hold after each.
 *
 *      in memory    one process; its chat goes on from documents
 *      in a store   up to two; chats end, crash, and others attach
 *
 * An operation may fail if something of it was let fail, or if another process
 * was first. Then no more goes wrong: everybody speaks once more, and must be
 * given everything.
 */
#include "chat_sim.h"

#define LEASE_MS     3600000 /* nobody renews it here: that takes real time */
#define BEGIN_MS     INT64_C(1700000000000)
#define MOST_TRIES   20  /* to restore something that fails by the seed */
#define MOST_CONTENT 350 /* words; then the play ends */

static const char key_bytes[] = "0123456789abcdef0123456789abcdef";

static pdr_chat_key key_of(void)
{
    return (pdr_chat_key){.id = pdr_str_c("k"),
                          .bytes = pdr_str_n(key_bytes, 32)};
}

/* --- one operation --------------------------------------------------------
 */

static pdr_chat_call op_begin(struct csim_process *p, enum csim_doing doing)
{
    struct csim *w = p->world;

    w->result->operations++;
    w->now_ms += csim_random(w, 5000);
    p->doing = doing;
    p->is_excused = p->has_stopped = false;
    p->next = p->selection;
    p->spoken = 0;
    p->boundary = w->truth;
    for (size_t i = 0; i < p->member_count; i++) {
        p->members[i].is_asked = false;
        p->members[i].calls = 0;
    }
    if (pdr_cancel_new(&p->cancel, NULL) != PDR_OK)
        abort();
    return (pdr_chat_call){
        .cancel = p->cancel, .now_ms = w->now_ms, .fn = csim_hear, .arg = p};
}

/* The chat as a document in our own form. */
static pdr_chat_state *state_of(struct csim_process *p)
{
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_chat_state *state = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_str rest;

    if (pdr_chat_save(p->chat, NULL, &err, pdr_write_buf, &text) != PDR_OK)
        csim_mistake(p->world, "no save: %s", err.message);
    rest = pdr_buf_str(&text);
    if (pdr_chat_open(&state, NULL, &err, pdr_read_str, &rest) != PDR_OK)
        csim_mistake(p->world, "a save cannot be read: %s", err.message);
    pdr_buf_dispose(&text);
    return state;
}

static void log_words(struct csim_process *p, struct csim_words *out)
{
    pdr_chat_message message;

    for (uint64_t seq = 1; pdr_chat_message_at(&message, p->chat, seq); seq++)
        csim_words_of(p->world, out, message.value, PDR_SHAPE_SK);
}

static void log_check(struct csim_process *p, const char *what)
{
    struct csim_words actual = {.count = 0};

    log_words(p, &actual);
    csim_words_check(p->world, &p->world->truth.log, &actual, what);
    if (pdr_chat_is_complete(p->chat) != p->world->truth.is_complete)
        csim_mistake(p->world, "%s: the chat is %sover", what,
                     p->world->truth.is_complete ? "not " : "");
    if (pdr_chat_is_active(p->chat))
        csim_mistake(p->world, "%s: the chat is still active", what);
}

/* Of a chat in memory: what became of what was said, and who is next. */
static void memory_settle(struct csim_process *p, pdr_rc rc, const char *what)
{
    struct csim *w = p->world;
    struct csim_words actual = {.count = 0};
    pdr_chat_turn last = {.number = 0};
    pdr_chat_state *state = NULL;
    size_t turns = 0;

    log_words(p, &actual);
    if (rc == PDR_OK)
        csim_said_all(p);
    for (size_t i = 0; i < p->said.count && w->truth.log.count < actual.count;
         i++)
        csim_word_add(w, &w->truth.log, p->said.at[i].text,
                      p->said.at[i].begins);
    p->said.count = 0;
    state = state_of(p);
    turns = pdr_chat_state_turn_count(state) - p->turns;
    p->turns += turns;
    if (turns > 0)
        (void)pdr_chat_state_turn(&last, state, p->turns - 1);
    if (rc == PDR_OK && turns > 0 && last.end != PDR_TURN_ENDED)
        csim_mistake(w, "%s: the last turn has not ended", what);
    if (turns > 0 && last.end == PDR_TURN_ENDED && p->has_stopped)
        csim_count(w, CSIM_LISTENER_STOPS_LAST);
    if (p->doing == CSIM_RUN && turns > 0 && last.end != PDR_TURN_ENDED &&
        turns == p->spoken)
        p->next = p->boundary.selection; /* it was to speak, and is again */
    if (p->doing == CSIM_RUN)
        w->truth.selection = p->selection = p->next;
    pdr_chat_state_free(state);
}

static void player_end(struct csim_process *p)
{
    struct csim *w = p->world;

    csim_trace(w, "p%u: ends", p->number);
    pdr_chat_free(p->chat);
    csim_members_end(p);
    pdr_store_close(p->store);
    for (size_t i = 0; i < 2; i++) {
        if (w->processes[i] == p)
            w->processes[i] = NULL;
    }
    free(p);
}

/* Was it right to fail? */
static void failure_check(struct csim_process *p, const pdr_err *err,
                          const char *what)
{
    struct csim *w = p->world;
    const char *reason = err->reason != NULL ? err->reason : "";

    csim_trace(w, "p%u: %s: %s (%s)", p->number, what, err->message, reason);
    if (strcmp(reason, "chat_changed") == 0 && p->known != w->commits) {
        csim_count(w, CSIM_CHANGED);
        return;
    }
    if (strcmp(reason, "chat_busy") == 0 && w->lease_of != 0 &&
        w->lease_of != p->number && w->lease_until_ms > w->now_ms) {
        csim_count(w, CSIM_BUSY);
        return;
    }
    if (!p->is_excused)
        csim_mistake(w, "%s fails for no reason: %s", what, err->message);
}

/* Is it of use yet? */
static bool is_stale(struct csim_process *p)
{
    pdr_err err = PDR_ERR_INIT;

    return pdr_chat_add(p->chat, NULL, 0, PDR_SHAPE_SK, &err) != PDR_OK;
}

/* The operation is over; false: so is the process. */
static bool op_end(struct csim_process *p, pdr_rc rc, const pdr_err *err,
                   const char *what)
{
    struct csim *w = p->world;

    pdr_cancel_free(p->cancel);
    p->cancel = NULL;
    if (rc == PDR_OK)
        csim_trace(w, "p%u: %s", p->number, what);
    if (p->is_cut) {
        player_end(p);
        return false;
    }
    if (rc != PDR_OK)
        failure_check(p, err, what);
    if (p->store == NULL)
        memory_settle(p, rc, what);
    if (p->store != NULL && (p->is_in_doubt || is_stale(p))) {
        player_end(p);
        return false;
    }
    if (p->store == NULL || p->known == w->commits)
        log_check(p, what);
    return true;
}

/* --- operations -----------------------------------------------------------
 */

static bool op_add(struct csim_process *p)
{
    struct csim *w = p->world;
    pdr_value *messages[3] = {NULL};
    struct csim_words words = {.count = 0};
    size_t count = 1 + csim_random(w, 3);
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    (void)op_begin(p, CSIM_OTHER);
    for (size_t i = 0; i < count; i++) {
        char word[8];

        csim_word_new(w, word, 'm');
        csim_word_add(w, &words, word, true);
        if (pdr_message_new_text(&messages[i], PDR_SHAPE_SK, pdr_str_c("user"),
                                 pdr_str_c(word), NULL) != PDR_OK)
            abort();
    }
    rc = pdr_chat_add(p->chat, (const pdr_value *const *)messages, count,
                      PDR_SHAPE_SK, &err);
    for (size_t i = 0; i < count; i++)
        pdr_value_free(messages[i]);
    if (rc == PDR_OK) {
        csim_said(p, &words);
        csim_must_have(p, &words, "whoever added it");
        csim_count(w, CSIM_ADDED);
    }
    return op_end(p, rc, &err, "add");
}

static bool op_run(struct csim_process *p)
{
    struct csim *w = p->world;
    const bool was_complete = pdr_chat_is_complete(p->chat);
    pdr_chat_call call = op_begin(p, CSIM_RUN);
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = pdr_chat_run(p->chat, &call, &err);

    if (rc == PDR_EMISUSE && was_complete) {
        csim_count(w, CSIM_COMPLETE);
        p->is_excused = true;
    } else if (rc == PDR_OK && (was_complete || p->spoken != w->max_turns)) {
        csim_mistake(w, "a run of %u turns had %zu", w->max_turns, p->spoken);
    }
    return op_end(p, rc, &err, "run");
}

static bool op_invoke(struct csim_process *p, size_t place)
{
    pdr_chat_call call = op_begin(p, CSIM_INVOKE);
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = pdr_chat_invoke(p->chat, pdr_str_c(p->members[place].name),
                                &call, &err);

    if (rc == PDR_OK && p->spoken != 1)
        csim_mistake(p->world, "a turn in which nobody spoke");
    /* It is over if its rule says so, and there is none. */
    if (rc == PDR_OK && p->store == NULL)
        p->world->truth.is_complete = false;
    return op_end(p, rc, &err, p->members[place].name);
}

static bool op_sync(struct csim_process *p)
{
    pdr_chat_call call = op_begin(p, CSIM_OTHER);
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = pdr_chat_sync(p->chat, &call, &err);

    if (rc == PDR_OK)
        csim_count(p->world, CSIM_SYNCED);
    return op_end(p, rc, &err, "sync");
}

/* What an agent sees, as its channel says. */
static bool op_read(struct csim_process *p, size_t place)
{
    struct csim *w = p->world;
    const char *name = p->members[place].name;
    struct csim_words seen = {.count = 0};
    pdr_chat_call call = op_begin(p, CSIM_OTHER);
    pdr_value *list = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_iter it;
    pdr_rc rc =
        pdr_chat_read_as(&list, p->chat, pdr_str_c(name), true, &call, &err);

    pdr_iter_init(&it, list);
    while (rc == PDR_OK && pdr_iter_next(&it))
        csim_words_of(w, &seen, it.value, PDR_SHAPE_SK);
    if (seen.count > 0 && p->known == w->commits &&
        strchr("anp", name[0]) != NULL)
        csim_words_check(w, &w->truth.log, &seen, name);
    csim_count(w, CSIM_READ);
    pdr_value_free(list);
    return op_end(p, rc, &err, "read");
}

static bool op_complete(struct csim_process *p, bool is_complete)
{
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    (void)op_begin(p, CSIM_OTHER);
    rc = pdr_chat_set_complete(p->chat, is_complete, &err);
    if (rc == PDR_OK && p->store == NULL)
        p->world->truth.is_complete = is_complete;
    return op_end(p, rc, &err, "complete");
}

static bool op_reset(struct csim_process *p)
{
    pdr_chat_call call = op_begin(p, CSIM_OTHER);
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = pdr_chat_reset(p->chat, NULL, &call, &err);

    if (rc == PDR_OK) {
        csim_count(p->world, CSIM_RESET);
        p->parked = 0;
    }
    if (rc == PDR_OK && p->store == NULL) {
        p->world->truth = (struct csim_truth){.has_open = false};
        p->selection = p->world->truth.selection;
        p->turns = 0;
    }
    return op_end(p, rc, &err, "reset");
}

/* --- who takes part -------------------------------------------------------
 */

size_t csim_place(const struct csim_process *p, const char *name)
{
    for (size_t i = 0; i < p->member_count; i++) {
        if (strcmp(p->members[i].name, name) == 0)
            return i;
    }
    return SIZE_MAX;
}

static bool takes_part(const struct csim_process *p, const char *name)
{
    return csim_place(p, name) != SIZE_MAX;
}

/* So many agents more, in any order. */
static void members_join(struct csim_process *p, size_t count)
{
    struct csim *w = p->world;

    while (count > 0 && p->member_count < CSIM_AGENTS) {
        const char *name = csim_agents[csim_random(w, CSIM_AGENTS)];

        if (takes_part(p, name))
            continue;
        if ((p->parked >> (name[0] - 'a') & 1) != 0)
            csim_count(w, CSIM_REJOINED);
        csim_member_begin(p, name);
        count--;
    }
}

/* The agents of the last chat: the same, in this or another order, or a few of
 * them; perhaps more. */
static void members_choose(struct csim_process *p)
{
    struct csim *w = p->world;
    size_t count = w->name_count, from = csim_random(w, 4), left = 0;

    if (from == 0 || count == 0) { /* others, perhaps */
        members_join(p, 1 + csim_random(w, 5));
    } else {
        left = from == 1 && count > 1 ? csim_random(w, (unsigned)count) : 0;
        for (size_t i = 0; i + left < count; i++)
            csim_member_begin(
                p, w->names[from == 2 ? count - 1 - i : (i + left) % count]);
        if (from == 2 && count > 1)
            csim_count(w, CSIM_OTHER_ORDER);
        if (csim_chance(w, 3))
            members_join(p, 1 + csim_random(w, 2));
    }
    w->name_count = p->member_count;
    for (size_t i = 0; i < p->member_count; i++)
        w->names[i] = p->members[i].name;
}

static struct csim_process *process_begin(struct csim *w, size_t slot)
{
    const pdr_chat_opts opts = {
        .id = pdr_str_c("c"), .kinds = csim_kinds, .max_turns = w->max_turns};
    struct csim_process *p = calloc(1, sizeof(*p));

    if (p == NULL)
        abort();
    p->world = w;
    p->number = ++w->process_count;
    p->known = w->commits;
    w->processes[slot] = p;
    if (w->is_stored)
        p->store = csim_store_open(p);
    if (pdr_chat_new(&p->chat, &opts, NULL) != PDR_OK)
        abort();
    return p;
}

/* --- restoring ------------------------------------------------------------
 */

/* Calls at the end of the log that have no result. */
static size_t dangling_count(const struct csim_words *log)
{
    size_t count = 0;

    for (size_t i = log->count; i > 0 && log->at[i - 1].text[0] != 'm'; i--) {
        char word[8];

        (void)snprintf(word, sizeof(word), "r%s", log->at[i - 1].text + 1);
        count += log->at[i - 1].text[0] == 'c' && !csim_word_has(log, word);
    }
    return count;
}

static size_t keys_of(const struct csim_process *p)
{
    size_t count = 0;

    for (char letter = 'a'; letter <= 's'; letter++) {
        bool has = false;

        for (size_t i = 0; i < p->member_count; i++)
            has |= p->members[i].name[0] == letter;
        count += has;
    }
    return count;
}

/* Does the report say what is so? `before` is what was true before that. */
static void report_check(struct csim_process *p, const pdr_chat_report *report,
                         const struct csim_truth *before)
{
    static const enum csim_event cases[] = {
        [PDR_CHAT_EQUIVALENT] = CSIM_CASE_EQUIVALENT,
        [PDR_CHAT_ENHANCED] = CSIM_CASE_ENHANCED,
        [PDR_CHAT_REDUCED] = CSIM_CASE_REDUCED,
        [PDR_CHAT_MIXED] = CSIM_CASE_MIXED};
    struct csim *w = p->world;
    size_t counts[PDR_CHAT_OPEN_TURN + 1] = {0}, here = 0;
    pdr_chat_case which = PDR_CHAT_EQUIVALENT;

    for (size_t i = 0; i < report->count; i++) {
        counts[report->rows[i].what]++;
        if (report->rows[i].what == PDR_CHAT_OUT_OF_SYNC)
            csim_mistake(w, "a channel is out of sync from message %" PRIu64,
                         report->rows[i].seq);
        if (report->rows[i].what == PDR_CHAT_OPEN_TURN &&
            !pdr_str_equal(report->rows[i].key, pdr_str_c(before->open)))
            csim_mistake(w, "the turn of another agent is reported");
    }
    here = counts[PDR_CHAT_RESTORED] + counts[PDR_CHAT_REBUILT] +
           counts[PDR_CHAT_MATCHED_BY_KIND];
    if (here + counts[PDR_CHAT_TO_CREATE] != keys_of(p))
        csim_mistake(w, "%zu channels restored, %zu to create, of %zu", here,
                     counts[PDR_CHAT_TO_CREATE], keys_of(p));
    if (counts[PDR_CHAT_PARKED] > 0)
        which =
            counts[PDR_CHAT_TO_CREATE] > 0 ? PDR_CHAT_MIXED : PDR_CHAT_REDUCED;
    else if (counts[PDR_CHAT_TO_CREATE] > 0)
        which = PDR_CHAT_ENHANCED;
    if (report->which != which)
        csim_mistake(w, "case %d is reported, and it is %d", (int)report->which,
                     (int)which);
    csim_count(w, cases[which]);
    if (which == PDR_CHAT_ENHANCED && here == 0 && before->log.count > 0)
        csim_count(w, CSIM_NEVER_SPOKEN);
    if (counts[PDR_CHAT_REBUILT] > 0)
        csim_count(w, CSIM_RESTORE_REBUILT);
    if (counts[PDR_CHAT_DANGLING_CALL] != dangling_count(&before->log))
        csim_mistake(w, "%zu calls without result are reported, there are %zu",
                     counts[PDR_CHAT_DANGLING_CALL],
                     dangling_count(&before->log));
    if (counts[PDR_CHAT_DANGLING_CALL] > 0)
        csim_count(w, CSIM_DANGLING);
    if ((counts[PDR_CHAT_OPEN_TURN] > 0) != before->has_open)
        csim_mistake(w, "%s", "an open turn is not reported, or a closed one");
    if (before->has_open)
        csim_count(w, CSIM_OPEN_TURN);
    p->parked = 0;
    for (size_t i = 0; i < CSIM_AGENTS && counts[PDR_CHAT_PARKED] > 0; i++) {
        if (!takes_part(p, csim_agents[i]))
            p->parked |= 1U << (csim_agents[i][0] - 'a');
    }
}

/* Whom the order goes on after, of those who are here: if the last one is not,
 * the next one is the first that came after it in the list that was saved. */
static void selection_take(struct csim_process *p, const pdr_chat_state *state)
{
    struct csim_selection *s = &p->selection;
    size_t count = pdr_chat_state_participant_count(state), last = 0;
    pdr_chat_participant who;

    *s = p->world->truth.selection;
    if (!s->has_selected || takes_part(p, s->last))
        return;
    while (pdr_chat_state_participant(&who, state, last) &&
           !pdr_str_equal(who.id, pdr_str_c(s->last)))
        last++;
    if (last == count)
        csim_mistake(p->world, "%s spoke last, and is in no list", s->last);
    csim_count(p->world, CSIM_LAST_MISSING);
    s->has_selected = false;
    for (size_t i = 1; i < count; i++) {
        size_t place = 0;

        (void)pdr_chat_state_participant(&who, state, (last + i) % count);
        while (place < p->member_count &&
               !pdr_str_equal(who.id, pdr_str_c(p->members[place].name)))
            place++;
        if (place == p->member_count)
            continue;
        place = (place + p->member_count - 1) % p->member_count;
        s->has_selected = true;
        (void)snprintf(s->last, sizeof(s->last), "%s", p->members[place].name);
        return;
    }
}

static void new_check(struct csim_process *p, size_t agents)
{
    if (pdr_chat_message_count(p->chat) > 0 || pdr_chat_is_active(p->chat) ||
        pdr_chat_agent_count(p->chat) != agents)
        csim_mistake(p->world, "%s",
                     "a restore that failed has changed the chat");
}

/* A chat of nobody, and one that has begun, take nothing. */
static void misfits_check(struct csim_process *p, const pdr_chat_state *state,
                          bool has_begun)
{
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = pdr_chat_apply(NULL, p->chat, state, NULL, &err);

    csim_count(p->world, has_begun ? CSIM_CASE_INVALID : CSIM_CASE_EMPTY);
    if (rc != (has_begun ? PDR_EEXISTS : PDR_ENOTFOUND))
        csim_mistake(p->world, "a chat that is %s takes a document: %s",
                     has_begun ? "in use" : "empty", err.message);
    if (!has_begun)
        new_check(p, 0);
    else
        log_check(p, "after a restore into a chat in use");
}

/* The chat in memory goes on from a document, as another one. */
static void restore(struct csim *w, pdr_str text,
                    const struct csim_truth *truth)
{
    const pdr_chat_key key = key_of();
    const pdr_chat_open_opts open_opts = {
        .keys = &key,
        .key_count = memmem(text.ptr, text.len, "\"mac\":", 6) != NULL};
    struct csim_process *p = NULL;
    pdr_chat_state *state = NULL;
    pdr_chat_report *report = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    if (w->is_traced)
        printf("%.*s\n", (int)text.len, text.ptr);
    if (pdr_chat_open(&state, &open_opts, &err, pdr_read_str, &text) != PDR_OK)
        csim_mistake(w, "a save cannot be read: %s", err.message);
    player_end(w->processes[0]);
    p = process_begin(w, 0);
    if (csim_chance(w, 8))
        misfits_check(p, state, false);
    members_choose(p);
    w->truth = *truth;
    for (int tries = 0; report == NULL; tries++) {
        pdr_chat_apply_opts opts = {.rebuilds = csim_chance(w, 2) || tries > 3};

        p->is_excused = false;
        rc = pdr_chat_apply(&report, p->chat, state, &opts, &err);
        if (rc != PDR_OK && (!p->is_excused || tries == MOST_TRIES))
            csim_mistake(w, "a document is not taken: %s", err.message);
        if (rc != PDR_OK)
            new_check(p, p->member_count);
    }
    report_check(p, report, truth);
    selection_take(p, state);
    w->truth.selection = p->selection;
    p->turns = pdr_chat_state_turn_count(state);
    log_check(p, "after a restore");
    if (w->truth.log.count > 0 && csim_chance(w, 8))
        misfits_check(p, state, true);
    pdr_chat_report_free(report);
    pdr_chat_state_free(state);
}

/* Files of others do not say how far a channel has got. */
static bool is_in_step(struct csim_process *p)
{
    pdr_chat_state *state = state_of(p);
    pdr_chat_channel channel;
    bool is_in_step = true;

    for (size_t i = 0; pdr_chat_state_channel(&channel, state, i); i++)
        is_in_step &= channel.cursor == pdr_chat_state_message_count(state);
    pdr_chat_state_free(state);
    return is_in_step;
}

static void op_restore(struct csim *w)
{
    static const struct {
        enum csim_event event;
        pdr_chat_save_opts opts;
    } forms[] = {{CSIM_SAVED_NATIVE, {.form = PDR_CHAT_NATIVE}},
                 {CSIM_SAVED_BASE64, {.is_encoded = true}},
                 {CSIM_SAVED_MAC, {.form = PDR_CHAT_NATIVE}},
                 {CSIM_SAVED_SK, {.form = PDR_CHAT_SK}},
                 {CSIM_SAVED_PLAIN, {.form = PDR_CHAT_PLAIN}},
                 {CSIM_SAVED_ENCODED, {.form = PDR_CHAT_ENCODED}}};
    struct csim_process *p = w->processes[0];
    size_t which = csim_random(w, PDR_COUNT(forms));
    pdr_chat_save_opts opts = forms[which].opts;
    struct csim_truth truth = w->truth;
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_err err = PDR_ERR_INIT;

    if (opts.form != PDR_CHAT_NATIVE && !is_in_step(p))
        which = 0;
    opts = forms[which].opts;
    if (forms[which].event == CSIM_SAVED_MAC)
        opts.key = key_of();
    if (opts.form != PDR_CHAT_NATIVE) {
        truth.selection = (struct csim_selection){.has_selected = false};
        truth.is_complete = false;
    }
    if (pdr_chat_save(p->chat, &opts, &err, pdr_write_buf, &text) != PDR_OK)
        csim_mistake(w, "no save: %s", err.message);
    csim_trace(w, "restore, %s", csim_event_words(forms[which].event));
    csim_count(w, forms[which].event);
    restore(w, pdr_buf_str(&text), &truth);
    pdr_buf_dispose(&text);
}

/* An older document, perhaps of the inside of a turn. */
static void op_roll_back(struct csim *w)
{
    struct csim_truth truth = w->saved_truth;

    if (w->saved.len == 0)
        return;
    csim_trace(w, "roll back");
    csim_count(w, w->is_saved_inside ? CSIM_SAVED_INSIDE : CSIM_ROLLED_BACK);
    restore(w, pdr_buf_str(&w->saved), &truth);
}

static void op_keep(struct csim_process *p)
{
    struct csim *w = p->world;
    pdr_err err = PDR_ERR_INIT;

    pdr_buf_clear(&w->saved);
    if (pdr_chat_save(p->chat, NULL, &err, pdr_write_buf, &w->saved) != PDR_OK)
        csim_mistake(w, "no save: %s", err.message);
    w->saved_truth = w->truth;
    w->is_saved_inside = false;
}

/* --- chats in a store -----------------------------------------------------
 */

/* A process goes on with the chat. */
static void op_attach(struct csim *w, size_t slot, bool must)
{
    struct csim_process *p = process_begin(w, slot);
    const struct csim_truth before = w->truth;
    const pdr_chat_home home = {.store = p->store,
                                .ref = {.id = pdr_str_c("c")},
                                .create = true,
                                .lease_ms = LEASE_MS};
    pdr_chat_apply_opts opts = {.rebuilds = must || csim_chance(w, 2),
                                .now_ms = w->now_ms};
    pdr_chat_report *report = NULL;
    pdr_chat_state *state = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    w->result->operations++;
    (void)!pdr_chat_load(&state, w->raw, &home.ref, NULL);
    if (must)
        members_join(p, CSIM_AGENTS);
    else
        members_choose(p);
    if (state != NULL)
        selection_take(p, state);
    pdr_chat_state_free(state);
    rc = pdr_chat_attach(&report, p->chat, &home, &opts, &err);
    if (p->is_cut || rc != PDR_OK) {
        if (!p->is_cut)
            failure_check(p, &err, "attach");
        if (!p->is_cut)
            new_check(p, p->member_count);
        if (must)
            csim_mistake(w, "no process can go on: %s", err.message);
        player_end(p);
        return;
    }
    csim_trace(w, "p%u: attached", p->number);
    csim_count(w, CSIM_ATTACHED);
    if (report != NULL)
        report_check(p, report, &before);
    if (p->known != w->commits)
        csim_mistake(w, "a process that is late can attach");
    if (w->truth.has_open)
        csim_mistake(w, "a turn is still open");
    log_check(p, "after attaching");
    pdr_chat_report_free(report);
}

/* A document takes the place of the chat. */
static void op_replace(struct csim *w, struct csim_process *p)
{
    const pdr_ref ref = {.id = pdr_str_c("c")};
    pdr_chat_state *state = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    if (p->known != w->commits || w->truth.has_open)
        return;
    state = state_of(p);
    p->is_excused = false;
    w->is_replacing = true;
    rc = pdr_chat_state_store(state, p->store, &ref, true, w->now_ms, &err);
    w->is_replacing = false;
    pdr_chat_state_free(state);
    if (rc != PDR_OK) {
        failure_check(p, &err, "replace");
        return;
    }
    csim_trace(w, "p%u: replaced", p->number);
    csim_count(w, CSIM_REPLACED);
    w->truth.selection = p->selection;
    w->commits++;
    w->lease_of = 0;
}

static void op_crash(struct csim_process *p)
{
    csim_cut(p, CSIM_CRASH);
    player_end(p);
}

static bool op_any(struct csim_process *p);

void csim_meanwhile(struct csim_process *p)
{
    struct csim *w = p->world;
    size_t slot = w->processes[0] == p;
    const unsigned lease = w->lease_of;

    if (p->store == NULL || w->is_nested || w->is_calm || p->is_cut ||
        !csim_chance(w, 8))
        return;
    w->is_nested = true;
    csim_trace(w, "p%u: meanwhile", p->number);
    if (w->processes[slot] != NULL) {
        (void)op_any(w->processes[slot]);
    } else {
        if (w->lease_of == p->number && w->faults > 0 && csim_chance(w, 3)) {
            w->faults--;
            w->now_ms += LEASE_MS + 1;
        }
        op_attach(w, slot, false);
        if (w->processes[slot] != NULL && csim_chance(w, 2))
            (void)op_any(w->processes[slot]);
    }
    if (lease == p->number && w->lease_of != lease) {
        p->is_excused = true;
        csim_count(w, CSIM_TAKEN_OVER);
    }
    w->is_nested = false;
}

/* --- the play -------------------------------------------------------------
 */

/* One operation; false: the process is over. */
static bool op_any(struct csim_process *p)
{
    struct csim *w = p->world;
    size_t place = csim_random(w, (unsigned)p->member_count);

    switch (csim_random(w, 16)) {
    case 0:
    case 1:
    case 2:
    case 3:
        return op_add(p);
    case 4:
    case 5:
    case 6:
    case 7:
        return op_run(p);
    case 8:
    case 9:
    case 10:
        return op_invoke(p, place);
    case 11:
        return op_sync(p);
    case 12:
        return op_read(p, place);
    case 13:
        return op_complete(p, csim_chance(w, 4));
    case 14:
        if (csim_chance(w, 4))
            return op_reset(p);
        return op_sync(p);
    default:
        if (p->member_count < CSIM_AGENTS && csim_chance(w, 2)) {
            csim_count(w, CSIM_JOINED);
            members_join(p, 1);
        }
        return op_add(p);
    }
}

static void memory_step(struct csim *w)
{
    switch (csim_random(w, 8)) {
    case 0:
        op_restore(w);
        break;
    case 1:
        if (csim_chance(w, 2))
            op_keep(w->processes[0]);
        else
            op_roll_back(w);
        break;
    default:
        (void)op_any(w->processes[0]);
    }
}

static void store_step(struct csim *w)
{
    size_t slot = csim_random(w, 8) == 0;
    struct csim_process *p = w->processes[slot];

    if (p == NULL) {
        if (csim_chance(w, 2))
            w->now_ms += LEASE_MS + 1;
        op_attach(w, slot, false);
        return;
    }
    switch (csim_random(w, 24)) {
    case 0:
        op_crash(p);
        break;
    case 1:
        player_end(p);
        break;
    case 2:
        op_replace(w, p);
        break;
    default:
        (void)op_any(p);
    }
}

/* Nothing fails any more: everybody is given everything. */
static void calm_check(struct csim *w)
{
    struct csim_process *p = NULL;
    bool good = true;

    csim_trace(w, "calm");
    w->is_calm = true;
    for (size_t i = 0; i < w->thread_count; i++)
        w->threads[i]->is_gone = false;
    for (size_t i = 0; w->is_stored && i < 2; i++) {
        if (w->processes[i] != NULL)
            player_end(w->processes[i]);
    }
    w->now_ms += LEASE_MS + 1;
    if (w->is_stored)
        op_attach(w, 0, true);
    p = w->processes[0];
    members_join(p, CSIM_AGENTS);
    good = op_complete(p, false) && op_sync(p);
    for (size_t i = 0; good && i < p->member_count; i++)
        good = op_invoke(p, i) && op_read(p, i);
    for (unsigned i = 0; good && i < 3; i++)
        good = op_run(p);
    if (!good)
        csim_mistake(w, "%s", "a chat is of no use, and nothing failed");
    player_end(p);
}

void csim_play(struct csim_result *out, const struct csim_seed *seed)
{
    struct csim *w = calloc(1, sizeof(*w));
    unsigned steps = 0;

    if (w == NULL)
        abort();
    w->seed = w->random = seed->seed;
    w->skips = seed->skips;
    w->command = seed->command;
    w->told = seed->told;
    w->result = out;
    w->is_traced = getenv("SIM_TRACE") != NULL;
    w->now_ms = BEGIN_MS;
    w->saved = (pdr_buf)PDR_BUF_INIT(SIZE_MAX);
    w->is_stored = csim_chance(w, 2);
    w->faults = csim_random(w, 9);
    w->rate = 2 + csim_random(w, 20);
    w->max_turns = 1 + csim_random(w, 3);
    steps = 6 + csim_random(w, 25);
    if (w->is_stored && pdr_store_open(&w->raw, "memory:", NULL) != PDR_OK)
        abort();
    w->name_count = 0;
    if (!w->is_stored)
        members_join(process_begin(w, 0), 1 + csim_random(w, 5));
    for (; steps > 0 && w->truth.log.count < MOST_CONTENT; steps--) {
        if (w->is_stored)
            store_step(w);
        else
            memory_step(w);
    }
    calm_check(w);
    out->hash = w->hash;
    for (size_t i = 0; i < w->thread_count; i++)
        free(w->threads[i]);
    pdr_store_close(w->raw);
    pdr_buf_dispose(&w->saved);
    free(w);
}
