/* chat_sim.c - see chat_sim.h: words, and what must be. */
#include "chat_sim.h"

#include "processes.h"

unsigned csim_random(struct csim *w, unsigned below)
{
    return random_below(&w->random, below);
}

bool csim_chance(struct csim *w, unsigned one_of)
{
    return csim_random(w, one_of) == 0;
}

/* What there is much room for: else the faults of a seed go there. */
static bool is_frequent(enum csim_event event)
{
    return event == CSIM_CANCELLED || event == CSIM_COMMIT_FAILS ||
           event == CSIM_COMMIT_UNKNOWN_LOST ||
           event == CSIM_COMMIT_UNKNOWN_DONE || event == CSIM_READ_FAILS ||
           event == CSIM_CRASH_BEFORE_COMMIT ||
           event == CSIM_CRASH_AFTER_COMMIT;
}

bool csim_fault(struct csim_process *p, enum csim_event event)
{
    struct csim *w = p->world;

    if (w->is_calm || w->faults == 0 || !csim_chance(w, w->rate) ||
        (is_frequent(event) && !csim_chance(w, 5)))
        return false;
    w->faults--;
    p->is_excused = true;
    csim_trace(w, "p%u: %s", p->number, csim_event_words(event));
    csim_count(w, event);
    return true;
}

/* --- telling --------------------------------------------------------------
 */

const char *csim_event_words(enum csim_event event)
{
    static const char *const words[] = {
#define X(name, words) words,
        CSIM_EVENTS(X)
#undef X
    };

    return words[event];
}

void csim_count(struct csim *w, enum csim_event event)
{
    w->result->counts[event]++;
    w->hash = (w->hash ^ (uint64_t)event) * UINT64_C(1099511628211);
}

void csim_trace(struct csim *w, const char *format, ...)
{
    char text[600];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    for (const char *at = text; *at != '\0'; at++)
        w->hash =
            (w->hash ^ (uint64_t)(unsigned char)*at) * UINT64_C(1099511628211);
    if (w->is_traced)
        printf("%s\n", text);
}

void csim_mistake(struct csim *w, const char *format, ...)
{
    char text[2000];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (w->told != NULL)
        fprintf(w->told, "%s\n", text);
    else
        fprintf(stderr, "seed %" PRIu64 ": %s\n  play it alone: %s\n", w->seed,
                text, w->command);
    fflush(NULL);
    process_leave(CSIM_STATUS);
}

/* --- words ----------------------------------------------------------------
 */

void csim_word_add(struct csim *w, struct csim_words *words, const char *text,
                   bool begins)
{
    struct csim_word *word = &words->at[words->count];

    if (words->count == CSIM_WORDS)
        csim_mistake(w, "there are more words than there should be");
    (void)snprintf(word->text, sizeof(word->text), "%s", text);
    word->begins = begins;
    words->count++;
}

bool csim_word_has(const struct csim_words *words, const char *text)
{
    for (size_t i = 0; i < words->count; i++) {
        if (strcmp(words->at[i].text, text) == 0)
            return true;
    }
    return false;
}

void csim_word_new(struct csim *w, char out[8], char letter)
{
    (void)snprintf(out, 8, "%c%u", letter, ++w->number);
}

/* The word of one content. */
static void content_word(struct csim *w, char out[8], const pdr_value *content,
                         pdr_shape shape)
{
    pdr_content_kind kind = pdr_content_kind_of(content, shape);
    const pdr_value *text = pdr_content_get(
        content, shape,
        kind == PDR_CONTENT_TEXT ? PDR_FIELD_TEXT : PDR_FIELD_CALL_ID);
    const pdr_value *result = pdr_content_get(content, shape, PDR_FIELD_RESULT);
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX), other = PDR_BUF_INIT(SIZE_MAX);
    pdr_str bytes = {NULL, 0}, given = {NULL, 0};

    if (text == NULL || pdr_value_text(&bytes, text, &scratch, NULL) != PDR_OK)
        csim_mistake(w, "a content is no text, no call and no result");
    (void)snprintf(out, 8, "%.*s", (int)bytes.len, bytes.ptr);
    if (kind == PDR_CONTENT_RESULT) {
        out[0] = 'r';
        if (result != NULL && pdr_value_kind(result) == PDR_STRING &&
            pdr_value_text(&given, result, &other, NULL) == PDR_OK &&
            memmem(given.ptr, given.len, "was interrupted", 15) != NULL)
            out[0] = 'i';
    }
    pdr_buf_dispose(&scratch);
    pdr_buf_dispose(&other);
}

void csim_words_of(struct csim *w, struct csim_words *out,
                   const pdr_value *message, pdr_shape shape)
{
    bool begins = true;
    pdr_iter it;

    pdr_iter_init(&it, pdr_message_contents(message, shape));
    while (pdr_iter_next(&it)) {
        char word[8];

        content_word(w, word, it.value, shape);
        csim_word_add(w, out, word, begins);
        begins = false;
    }
}

static void words_print(char *out, size_t size, const struct csim_words *words)
{
    size_t len = 0;

    out[0] = '\0';
    for (size_t i = 0; i < words->count && len + 10 < size; i++)
        len +=
            (size_t)snprintf(out + len, size - len, " %s", words->at[i].text);
}

void csim_words_check(struct csim *w, const struct csim_words *expected,
                      const struct csim_words *actual, const char *who)
{
    static char left[800], right[800];
    size_t i = 0;

    while (i < expected->count && i < actual->count &&
           strcmp(expected->at[i].text, actual->at[i].text) == 0)
        i++;
    if (i == expected->count && i == actual->count)
        return;
    words_print(left, sizeof(left), expected);
    words_print(right, sizeof(right), actual);
    csim_mistake(w,
                 "%s: word %zu is another one\n    expected%s\n    actual  %s",
                 who, i + 1, left, right);
}

/* --- what agents have said ------------------------------------------------
 * Of a chat in memory nobody but the chat knows what is in its log. What an
 * agent said is there at the latest when something else happened because of
 * it; the rest is looked up when the operation is over.
 */

void csim_said(struct csim_process *p, const struct csim_words *words)
{
    for (size_t i = 0; p->store == NULL && i < words->count; i++)
        csim_word_add(p->world, &p->said, words->at[i].text,
                      words->at[i].begins);
}

void csim_said_all(struct csim_process *p)
{
    for (size_t i = 0; i < p->said.count; i++)
        csim_word_add(p->world, &p->world->truth.log, p->said.at[i].text,
                      p->said.at[i].begins);
    p->said.count = 0;
}

void csim_must_have(struct csim_process *p, const struct csim_words *words,
                    const char *who)
{
    struct csim *w = p->world;

    for (size_t i = 0; i < words->count; i++) {
        if (p->store == NULL && csim_word_has(&p->said, words->at[i].text))
            csim_said_all(p);
        if (!csim_word_has(&w->truth.log, words->at[i].text))
            csim_mistake(w, "%s: '%s' is not in the log", who,
                         words->at[i].text);
    }
}
