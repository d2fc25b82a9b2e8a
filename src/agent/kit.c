/*
 * kit.c - does a provider keep sessions apart, and find them again?
 *
 * WHY  A provider serves all sessions of a process, so a mistake in it shows
 *      one user what another one said. No test of one session finds that. Here
 *      the same two conversations, "a" and "b", are held several times:
 *
 *        each alone              what the provider adds now is right
 *        in turns, one inside the other, at swapped addresses,
 *        two instances on one session, from a store in a second process
 *                                it has to add the same
 *
 *      Who adds the same whatever happens around a session, keeps nothing of it
 *      anywhere else.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent.h"

#include <perdure/json.h>
#include <perdure/sys/provider.h>

#include "session.h"

#define TURNS     4
#define NOW       INT64_C(1700000000000)
#define AGAIN     "--again"
#define MAX_PLACE 4096

/* A conversation, and what the provider added to it. */
struct talk {
    const char *name;
    pdr_session *session; /* owned; or */
    pdr_stored *stored;   /* owned */
    size_t done;          /* turns */
    pdr_buf added[TURNS];
};

/* The provider, opened once, in an agent that asks us. */
struct stand {
    pdr_client base;
    const pdr_provider_kit *kit;
    pdr_provider provider;
    bool is_open;
    pdr_agent *agent;    /* owned */
    struct talk *now;    /* whose turn it is */
    struct talk *inside; /* has its turn while the model answers that one */
};

/* --- one turn --------------------------------------------------------------
 */

static pdr_rc talk_turn(struct talk *talk, struct stand *stand, pdr_err *err)
{
    struct talk *was = stand->now;
    pdr_response *response = NULL;
    char text[64];
    pdr_run run = {.stored = talk->stored,
                   .session = talk->stored == NULL ? talk->session : NULL,
                   .now_ms = NOW};
    pdr_rc rc = PDR_OK;

    (void)snprintf(text, sizeof(text), "this is turn %zu of %s", talk->done + 1,
                   talk->name);
    run.text = pdr_str_c(text);
    stand->now = talk;
    rc = pdr_agent_run(&response, stand->agent, &run, err);
    stand->now = was;
    talk->done++;
    pdr_response_free(response);
    return rc;
}

/* Note what the provider added. */
static pdr_rc note_request(struct stand *stand,
                           const pdr_client_request *request, pdr_err *err)
{
    pdr_buf *out = &stand->now->added[stand->now->done];
    pdr_origin origin = stand->provider.kind == PDR_PROVIDER_HISTORY
                            ? PDR_ORIGIN_HISTORY
                            : PDR_ORIGIN_CONTEXT;
    pdr_rc rc = pdr_buf_append(out, request->instructions, err);

    for (size_t i = 0; rc == PDR_OK && i < request->tool_count; i++)
        rc = pdr_buf_append(out, request->tools[i].name, err);
    for (size_t i = 0; rc == PDR_OK && i < request->count; i++) {
        const pdr_request_message *m = &request->messages[i];

        if (m->origin == origin)
            rc = pdr_message_text(out, m->value, m->shape, err);
    }
    return rc;
}

/* The model: repeats the last thing that it was told. */
static pdr_rc stand_send(pdr_client *self, const pdr_client_request *request,
                         pdr_err *err, pdr_update_fn fn, void *arg)
{
    struct stand *stand = (struct stand *)self;
    struct talk *inside = stand->inside;
    pdr_buf text = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    const pdr_value *contents[1] = {NULL};
    const pdr_update update = {
        .role = PDR_LIT("assistant"), .contents = contents, .content_count = 1};
    pdr_value *answer = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(note_request(stand, request, err));
    stand->inside = NULL;
    if (inside != NULL)
        PDR_TRY(talk_turn(inside, stand, err));
    if (stand->kit->client != NULL)
        return pdr_client_send(stand->kit->client, request, err, fn, arg);
    PDR_TRY(pdr_buf_printf(&text, err, "heard turn %zu of %s",
                           stand->now->done + 1, stand->now->name));
    PDR_TRY(
        pdr_content_new_text(&answer, request->shape, pdr_buf_str(&text), err));
    contents[0] = answer;
    rc = fn(&update, err, arg);
done:
    pdr_value_free(answer);
    pdr_buf_dispose(&text);
    return rc;
}

static void stand_unref(pdr_client *self)
{
    (void)self; /* it is where the caller has it */
}

static const pdr_client_ops stand_ops = {PDR_CLIENT_OPS_VERSION, "kit",
                                         stand_send, stand_unref};

/* --- a stand and its talks -------------------------------------------------
 */

static void stand_close(struct stand *stand)
{
    pdr_agent_free(stand->agent);
    if (stand->is_open)
        stand->kit->close(&stand->provider, stand->kit->arg);
}

static pdr_rc stand_open(struct stand *stand, const pdr_provider_kit *kit,
                         const char *folder, const char *place, unsigned number,
                         pdr_err *err)
{
    pdr_agent_parts parts = {.name = PDR_LIT("kit"),
                             .client = &stand->base,
                             .providers = &stand->provider,
                             .provider_count = 1};
    char path[MAX_PLACE];
    pdr_rc rc = PDR_OK;

    *stand = (struct stand){.kit = kit};
    (void)snprintf(path, sizeof(path), "%s/%s", folder, place);
    (void)mkdir(path, 0700); /* whether it is there, open() will find out */
    PDR_TRY(pdr_client_init(&stand->base, &stand_ops, err));
    PDR_TRY(kit->open(&stand->provider, path, number, err, kit->arg));
    stand->is_open = true;
    PDR_TRY(pdr_agent_new(&stand->agent, &parts, err));
done:
    return rc;
}

static void talk_dispose(struct talk *talk)
{
    pdr_session_free(talk->session);
    pdr_stored_close(talk->stored);
    for (size_t i = 0; i < TURNS; i++)
        pdr_buf_dispose(&talk->added[i]);
}

/* Two talks, in new sessions or in those of a store. */
static pdr_rc talks_init(struct talk talks[2], pdr_store *store, pdr_err *err)
{
    const pdr_session_parts parts = {.kind = PDR_SESSION_KIND_CLIENT};
    const pdr_stored_opts create = {.create = true};
    const pdr_buf none = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < 2; i++) {
        talks[i] = (struct talk){.name = i == 0 ? "a" : "b"};
        for (size_t k = 0; k < TURNS; k++)
            talks[i].added[k] = none;
    }
    for (size_t i = 0; i < 2; i++) {
        const pdr_ref ref = {.id = pdr_str_c(talks[i].name)};

        if (store != NULL)
            PDR_TRY(
                pdr_stored_open(&talks[i].stored, store, &ref, &create, err));
        else
            PDR_TRY(pdr_session_new(&talks[i].session, &parts, err));
    }
done:
    return rc;
}

/* Hold the talks in this order, one ahead of the other, so that they differ:
 * "a" and "b" for a turn of one, "A" for a turn of a with one of b inside, and
 * "x" to let them change places in memory. */
static pdr_rc talks_hold(struct talk talks[2], struct stand *stand,
                         const char *order, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    for (; *order != '\0'; order++) {
        size_t i = *order == 'a' || *order == 'A' ? 0 : 1;

        if (*order == 'x') {
            pdr_session *first = talks[0].session;

            pdr__session_swap(talks[0].session, talks[1].session);
            talks[0].session = talks[1].session;
            talks[1].session = first;
            continue;
        }
        if (*order == 'A' || *order == 'B')
            stand->inside = &talks[1 - i];
        PDR_TRY(talk_turn(&talks[i], stand, err));
    }
done:
    return rc;
}

/* --- comparing -------------------------------------------------------------
 */

/* What was added to each turn, `first` and later, as it was alone? */
static pdr_rc talk_compare(const struct talk *talk, const struct talk *alone,
                           size_t first, enum pdr__reason reason,
                           const char *when, pdr_err *err)
{
    for (size_t i = first; i < talk->done; i++) {
        char got[PDR_SHOWN], wanted[PDR_SHOWN];
        pdr_str now = pdr_buf_str(&talk->added[i]);
        pdr_str then = pdr_buf_str(&alone->added[i]);

        if (pdr_str_equal(now, then))
            continue;
        pdr__fail(err, reason, PDR__WHERE,
                  "%s, it added to turn %zu of session %s: '%s'; alone: '%s'",
                  when, i + 1, talk->name, pdr__shown(got, now),
                  pdr__shown(wanted, then));
        return PDR_EINVALID;
    }
    return PDR_OK;
}

/* Does a session hold a secret, or the provider's address? */
static pdr_rc secrets_find(pdr_session *session, const struct stand *stand,
                           pdr_err *err)
{
    const char *const *secrets = stand->kit->secrets;
    const uintptr_t address = (uintptr_t)stand->provider.self;
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX), secret = PDR_BUF_INIT(SIZE_MAX);
    pdr_value *document = NULL;
    char self[2][32] = {"", ""}, shown[PDR_SHOWN];
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_session_to_value(&document, session, err));
    PDR_TRY(pdr_json_write(&text, document, NULL, err));
    PDR_TRY(pdr_buf_append(&text, pdr_str_n("", 1), err));
    (void)snprintf(self[0], sizeof(self[0]), "%ju", (uintmax_t)address);
    (void)snprintf(self[1], sizeof(self[1]), "%jx", (uintmax_t)address);
    for (size_t i = 0; address > UINT16_MAX && i < 2; i++) {
        if (strstr(text.ptr, self[i]) != NULL)
            rc = PDR_FAIL(err, LEAK_SECRET, "%s",
                          "a session holds the address of the provider");
    }
    for (; rc == PDR_OK && secrets != NULL && *secrets != NULL; secrets++) {
        pdr_buf_clear(&secret); /* as JSON spells it */
        PDR_TRY(pdr__text_encode(&secret, pdr_str_c(*secrets), err));
        PDR_TRY(pdr_buf_append(&secret, pdr_str_n("", 1), err));
        if (strstr(text.ptr, secret.ptr) != NULL)
            rc = PDR_FAIL(err, LEAK_SECRET, "a session holds the secret '%s'",
                          pdr__shown(shown, pdr_str_c(*secrets)));
    }
done:
    pdr_value_free(document);
    pdr_buf_dispose(&secret);
    pdr_buf_dispose(&text);
    return rc;
}

/* --- the checks ------------------------------------------------------------
 */

/* Each talk alone, with a provider and a place of its own. */
static pdr_rc hold_alone(struct talk talks[2], const pdr_provider_kit *kit,
                         const char *folder, unsigned number, pdr_err *err)
{
    static const char *const orders[] = {"aaaa", "bbbb"};
    pdr_rc rc = talks_init(talks, NULL, err);

    for (size_t i = 0; rc == PDR_OK && i < 2; i++) {
        struct stand stand;
        char place[32];

        (void)snprintf(place, sizeof(place), "alone-%u-%zu", number, i);
        rc = stand_open(&stand, kit, folder, place, number, err);
        if (rc == PDR_OK)
            rc = talks_hold(talks, &stand, orders[i], err);
        stand_close(&stand);
    }
    return rc;
}

/* Both on one provider, in this order. */
static pdr_rc check_order(const pdr_provider_kit *kit, const char *folder,
                          const struct talk alone[2], const char *order,
                          enum pdr__reason reason, const char *when,
                          pdr_err *err)
{
    struct talk talks[2] = {{.name = NULL}, {.name = NULL}};
    struct stand stand;
    pdr_rc rc = PDR_OK;

    PDR_TRY(stand_open(&stand, kit, folder, order, 0, err));
    PDR_TRY(talks_init(talks, NULL, err));
    PDR_TRY(talks_hold(talks, &stand, order, err));
    for (size_t i = 0; i < 2; i++)
        PDR_TRY(secrets_find(talks[i].session, &stand, err));
    for (size_t i = 0; i < 2; i++)
        PDR_TRY(talk_compare(&talks[i], &alone[i], 0, reason, when, err));
done:
    for (size_t i = 0; i < 2; i++)
        talk_dispose(&talks[i]);
    stand_close(&stand);
    return rc;
}

/* Two instances on one session: a talks with the first, b with the second. */
static pdr_rc check_instances(const pdr_provider_kit *kit, const char *folder,
                              const struct talk *first,
                              const struct talk *second, pdr_err *err)
{
    struct stand stands[2] = {{.kit = kit}, {.kit = kit}};
    struct talk talks[2] = {{.name = NULL}, {.name = NULL}};
    pdr_provider_set *set = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(talks_init(talks, NULL, err));
    for (unsigned i = 0; i < 2; i++)
        PDR_TRY(stand_open(&stands[i], kit, folder, "instances", i, err));
    if (stands[0].provider.kind == PDR_PROVIDER_CONTEXT) {
        const pdr_provider both[] = {stands[0].provider, stands[1].provider};

        rc = pdr_provider_set_new(&set, both, 2, err);
        if (pdr__err_is(err, PDR_R_STATE_KEY_CLASH))
            rc = PDR_FAIL(err, LEAK_KEY, "%s",
                          "two instances have one key, so no agent takes both");
        PDR_TRY(rc);
    }
    pdr_session_free(talks[1].session);
    talks[1].session = pdr__session_ref(talks[0].session);
    for (size_t i = 0; i < TURNS; i++) {
        PDR_TRY(talk_turn(&talks[0], &stands[0], err));
        PDR_TRY(talk_turn(&talks[1], &stands[1], err));
    }
    PDR_TRY(talk_compare(&talks[0], first, 0, PDR_R_LEAK_KEY,
                         "beside another instance", err));
    PDR_TRY(talk_compare(&talks[1], second, 0, PDR_R_LEAK_KEY,
                         "beside another instance", err));
done:
    for (size_t i = 0; i < 2; i++) {
        stand_close(&stands[i]);
        talk_dispose(&talks[i]);
    }
    pdr_provider_set_free(set);
    return rc;
}

/* Half of the turns in the sessions of a store. */
static pdr_rc hold_stored(struct talk talks[2], const pdr_provider_kit *kit,
                          const char *folder, size_t done, pdr_err *err)
{
    pdr_store *store = NULL;
    struct stand stand = {.kit = kit};
    char path[MAX_PLACE];
    pdr_rc rc = PDR_OK;

    (void)snprintf(path, sizeof(path), "%s/sessions.db", folder);
    PDR_TRY(pdr_store_open(&store, path, err));
    PDR_TRY(talks_init(talks, store, err));
    talks[0].done = talks[1].done = done;
    PDR_TRY(stand_open(&stand, kit, folder, "stored", 0, err));
    PDR_TRY(talks_hold(talks, &stand, "abba", err));
done:
    stand_close(&stand);
    for (size_t i = 0; store != NULL && i < 2; i++) {
        pdr_stored_close(talks[i].stored);
        talks[i].stored = NULL;
    }
    pdr_store_close(store);
    return rc;
}

/* The second process: goes on with the sessions, and prints what the provider
 * added, first to those of a. Another handle is open before, so that the same
 * number or address means something else here. */
static pdr_rc hold_again(const pdr_provider_kit *kit, const char *folder,
                         pdr_err *err)
{
    struct stand other = {.kit = kit};
    struct talk talks[2] = {{.name = NULL}, {.name = NULL}};
    pdr_value *list = pdr_value_new_array(), *one = NULL;
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_rc rc = PDR_OK;

    PDR_TRY(stand_open(&other, kit, folder, "other", 1, err));
    PDR_TRY(hold_stored(talks, kit, folder, TURNS / 2, err));
    for (size_t i = 0; i < TURNS; i++) {
        const struct talk *talk = &talks[i / (TURNS / 2)];
        size_t turn = TURNS / 2 + i % (TURNS / 2);

        PDR_TRY(
            pdr_value_new_string(&one, pdr_buf_str(&talk->added[turn]), err));
        PDR_TRY(pdr_value_append(&list, one, err));
        pdr_value_free(one);
        one = NULL;
    }
    PDR_TRY(pdr_json_write(&text, list, NULL, err));
    (void)fwrite(text.ptr, 1, text.len, stdout);
done:
    stand_close(&other);
    for (size_t i = 0; i < 2; i++)
        talk_dispose(&talks[i]);
    pdr_value_free(one);
    pdr_value_free(list);
    pdr_buf_dispose(&text);
    return rc;
}

static pdr_rc check_process(const pdr_provider_kit *kit, const char *folder,
                            const char *const *again,
                            const struct talk alone[2], pdr_err *err)
{
    const pdr_command command = {.argv = again,
                                 .env = (const char *const *)environ};
    struct talk talks[2] = {{.name = NULL}, {.name = NULL}};
    pdr_value *none = pdr_value_new_object(), *list = NULL;
    const pdr_tool_call call = {.arguments = none};
    pdr_err why = PDR_ERR_INIT;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    PDR_TRY(hold_stored(talks, kit, folder, 0, err));
    for (size_t i = 0; i < 2; i++)
        PDR_TRY(talk_compare(&talks[i], &alone[i], 0, PDR_R_LEAK_PROCESS,
                             "in a store", err));
    if (pdr_command_run(&list, &call, &why, (void *)(uintptr_t)&command) !=
        PDR_OK) {
        rc = PDR_FAIL(err, LEAK_PROCESS, "in another process: %s", why.message);
        goto done;
    }
    if (pdr_value_count(list) != TURNS) {
        rc = PDR_FAIL(err, LEAK_PROCESS, "%s",
                      "in another process, the program did not come to the kit "
                      "again");
        goto done;
    }
    pdr_iter_init(&it, list);
    while (pdr_iter_next(&it)) {
        struct talk *talk = &talks[it.index / (TURNS / 2)];
        pdr_buf *to = &talk->added[talk->done++];
        pdr_str text = {NULL, 0};
        pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);

        rc = pdr_value_text(&text, it.value, &scratch, err);
        if (rc == PDR_OK)
            rc = pdr_buf_append(to, text, err);
        pdr_buf_dispose(&scratch);
        PDR_TRY(rc);
    }
    for (size_t i = 0; i < 2; i++)
        PDR_TRY(talk_compare(&talks[i], &alone[i], TURNS / 2,
                             PDR_R_LEAK_PROCESS, "in another process", err));
done:
    for (size_t i = 0; i < 2; i++)
        talk_dispose(&talks[i]);
    pdr_value_free(list);
    pdr_value_free(none);
    return rc;
}

static pdr_rc check_all(const pdr_provider_kit *kit, const char *folder,
                        const char *const *again, pdr_err *err)
{
    struct talk alone[2][2] = {{{.name = NULL}}};
    char path[MAX_PLACE], shown[PDR_SHOWN];
    pdr_rc rc = PDR_OK;

    /* What an earlier check left there would look like a leak. */
    (void)snprintf(path, sizeof(path), "%s/other", folder);
    if (mkdir(path, 0700) != 0)
        return PDR_FAIL(err, FILE_FAILED, "'%s' must be an empty folder: %s",
                        pdr__shown(shown, pdr_str_c(folder)), strerror(errno));

    for (unsigned i = 0; i < 2; i++)
        PDR_TRY(hold_alone(alone[i], kit, folder, i, err));
    PDR_TRY(check_order(kit, folder, alone[0], "aabAbB", PDR_R_LEAK_SESSION,
                        "beside another session", err));
    PDR_TRY(check_order(kit, folder, alone[0], "aabxabxbxab",
                        PDR_R_LEAK_ADDRESS, "where another session was", err));
    PDR_TRY(check_instances(kit, folder, &alone[0][0], &alone[1][1], err));
    PDR_TRY(check_process(kit, folder, again, alone[0], err));
done:
    for (size_t i = 0; i < 4; i++)
        talk_dispose(&alone[i / 2][i % 2]);
    return rc;
}

int pdr_provider_kit_main(int argc, char **argv, const pdr_provider_kit *kit)
{
    const char **again = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    if (argc < 2) {
        (void)fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    again = pdr__calloc((size_t)argc + 2, sizeof(*again));
    if (again == NULL) {
        rc = pdr__nomem(&err);
    } else if (argc > 2 && strcmp(argv[argc - 1], AGAIN) == 0) {
        rc = hold_again(kit, argv[argc - 2], &err);
    } else {
        for (int i = 0; i < argc; i++)
            again[i] = argv[i];
        again[argc] = AGAIN;
        rc = check_all(kit, argv[argc - 1], again, &err);
    }
    pdr__free(again);
    if (rc != PDR_OK)
        (void)fprintf(stderr, "%s: %s\n", err.reason, err.message);
    return pdr_rc_exit_status(rc);
}
