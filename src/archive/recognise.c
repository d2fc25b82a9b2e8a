/*
 * recognise.c - what is it, and where does it have what?
 *
 * WHY  Documents of sessions are told apart by names and kinds of a few members
 *      (src/session/shape.c). Those are kept while everything else goes by, and
 *      make a small value of the same look: so there is one set of rules, for
 *      values in memory and for streams of any length.
 *
 *        {"session":{"perdure":{"document":{…}},"stateBag":{}},"-":null}
 *
 * INVARIANTS
 *   K1  A skeleton has at most as many members as there are known names, and
 *       one more, "-", that stands for all others.
 */
#include "import.h"
#include "shape.h"

/* Which members of an object are kept. */
enum role {
    ROLE_NONE,
    ROLE_ROOT,
    ROLE_SESSION,
    ROLE_OWN,
    ROLE_STATE,
    ROLE_STORE
};

#define OTHERS PDR_LIT("-")

/* Where sessions of the time of threads keep messages, in the order in which
 * they are asked. */
static const char *const stores[] = {
    "storeState",
    "chatHistoryProviderState",
    "chat_message_store_state",
};

/* --- skeletons -------------------------------------------------------------
 */

void pdr__skeleton_dispose(struct pdr__skeleton *skeleton)
{
    for (size_t i = 0; i < PDR_BONES; i++)
        pdr_value_free(skeleton->bones[i].object);
    pdr_value_free(skeleton->root);
    memset(skeleton, 0, sizeof(*skeleton));
}

static bool is_one_of(const pdr_value *name, const char *const *names,
                      size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (pdr_value_text_is(name, pdr_str_c(names[i])))
            return true;
    }
    return false;
}

static bool is_kept(enum role role, const pdr_value *name)
{
    static const char *const own[] = {"version", "kind", "id", "document"};
    static const char *const state[] = {"schemaVersion", "data"};
    static const char *const store[] = {"messages"};

    switch (role) {
    case ROLE_ROOT:
    case ROLE_SESSION:
        return pdr__is_known_name(name);
    case ROLE_OWN:
        return is_one_of(name, own, PDR_COUNT(own));
    case ROLE_STATE:
        return is_one_of(name, state, PDR_COUNT(state));
    case ROLE_STORE:
        return is_one_of(name, store, PDR_COUNT(store));
    case ROLE_NONE:
        break;
    }
    return false;
}

/* The role of an object that is the member `name`. */
static enum role child_role(enum role role, const char *name)
{
    if (role == ROLE_ROOT && strcmp(name, "session") == 0)
        return ROLE_SESSION;
    if (role == ROLE_OWN && strcmp(name, "document") == 0)
        return ROLE_STATE;
    if (role != ROLE_ROOT && role != ROLE_SESSION)
        return ROLE_NONE;
    if (strcmp(name, "perdure") == 0)
        return ROLE_OWN;
    for (size_t i = 0; i < PDR_COUNT(stores); i++) {
        if (strcmp(name, stores[i]) == 0)
            return ROLE_STORE;
    }
    return ROLE_NONE;
}

static struct pdr__bone *last_bone(struct pdr__skeleton *k)
{
    return &k->bones[k->depth - 1];
}

/* Put the next value in its place; it is taken. */
static pdr_rc place_value(struct pdr__skeleton *k, pdr_value *value,
                          pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    if (k->depth == 0) {
        pdr_value_free(k->root);
        k->root = value;
        return PDR_OK;
    }
    if (last_bone(k)->kept)
        rc = pdr_value_set(&last_bone(k)->object, pdr_str_c(last_bone(k)->name),
                           value, err);
    pdr_value_free(value);
    return rc;
}

static pdr_rc feed_name(struct pdr__skeleton *k, const pdr_value *name,
                        pdr_err *err)
{
    struct pdr__bone *bone = last_bone(k);
    char scratch[PDR_SHORT_TEXT];
    pdr_str text = {NULL, 0};

    bone->kept = is_kept((enum role)bone->role, name) &&
                 pdr__short_text(&text, scratch, name);
    if (bone->kept) {
        memcpy(bone->name, text.ptr, text.len);
        bone->name[text.len] = '\0';
        return PDR_OK;
    }
    if (pdr_value_get(bone->object, OTHERS) != NULL)
        return PDR_OK;
    return pdr_value_set(&bone->object, OTHERS, pdr_value_new_null(), err);
}

static pdr_rc feed_begin(struct pdr__skeleton *k, bool object, pdr_err *err)
{
    enum role role = k->depth == 0 ? ROLE_ROOT : ROLE_NONE;

    if (k->depth > 0 && last_bone(k)->kept)
        role = child_role((enum role)last_bone(k)->role, last_bone(k)->name);
    if (!object || role == ROLE_NONE)
        return place_value(
            k, object ? pdr_value_new_object() : pdr_value_new_array(), err);
    k->depth++;
    last_bone(k)->role = (int)role;
    last_bone(k)->kept = false;
    last_bone(k)->object = pdr_value_new_object();
    return PDR_OK;
}

static pdr_rc feed_end(struct pdr__skeleton *k, pdr_err *err)
{
    pdr_value *object = last_bone(k)->object;

    last_bone(k)->object = NULL; /* moved */
    k->depth--;
    return place_value(k, object, err);
}

static pdr_rc feed_scalar(struct pdr__skeleton *k, const pdr_value *value,
                          pdr_err *err)
{
    pdr_value *copy = NULL;
    pdr_rc rc = PDR_OK;

    if (k->depth > 0 && !last_bone(k)->kept)
        return PDR_OK;
    copy = pdr_value_ref(value);
    PDR_TRY(pdr_value_compact(&copy, err)); /* the window goes on */
    return place_value(k, copy, err);
done:
    pdr_value_free(copy);
    return rc;
}

pdr_rc pdr__skeleton_feed(struct pdr__skeleton *skeleton, pdr_event event,
                          const pdr_value *value, size_t depth, pdr_err *err)
{
    struct pdr__skeleton *k = skeleton;

    if (event == PDR_NAME && depth == k->depth)
        return feed_name(k, value, err);
    if (event == PDR_SCALAR && depth == k->depth)
        return feed_scalar(k, value, err);
    if ((event == PDR_BEGIN_OBJECT || event == PDR_BEGIN_ARRAY) &&
        depth == k->depth + 1)
        return feed_begin(k, event == PDR_BEGIN_OBJECT, err);
    return event == PDR_END && depth + 1 == k->depth ? feed_end(k, err)
                                                     : PDR_OK;
}

pdr_rc pdr__skeleton_close(const pdr_value **out,
                           struct pdr__skeleton *skeleton, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    while (skeleton->depth > 0)
        PDR_TRY(feed_end(skeleton, err));
    *out = skeleton->root;
done:
    return rc;
}

/* --- layouts ---------------------------------------------------------------
 */

static size_t add_spot(struct pdr__layout *l, enum pdr__spot_kind kind,
                       size_t parent, const char *name)
{
    l->spots[l->count].kind = kind;
    l->spots[l->count].parent = parent;
    l->spots[l->count].name = name;
    return l->count++;
}

/* A list called `name` in the object `holder`. */
static void add_list(struct pdr__layout *l, size_t parent, const char *holder,
                     const char *name)
{
    add_spot(l, PDR_SPOT_ENTRIES, add_spot(l, PDR_SPOT_OBJECT, parent, holder),
             name);
}

/* Entries come first: pdr__layout_only() gives them. */
static void add_state(struct pdr__layout *l, size_t document)
{
    size_t data = add_spot(l, PDR_SPOT_OBJECT, document, "data");

    l->document = document;
    l->shape = PDR_ROW_STATE;
    add_spot(l, PDR_SPOT_ENTRIES, data, "conversationHistory");
    add_spot(l, PDR_SPOT_EXPIRY, data, "expirationTimeUtc");
}

/* The state document in a native session. */
static void add_bundle(struct pdr__layout *l, size_t session)
{
    size_t own = add_spot(l, PDR_SPOT_OBJECT, session, "perdure");

    add_state(l, add_spot(l, PDR_SPOT_OBJECT, own, "document"));
}

/* The store that has the messages of a thread; else the first that could. */
static void add_thread(struct pdr__layout *l, const pdr_value *session,
                       bool python)
{
    const char *best = python ? stores[2] : stores[0];
    size_t spot = l->count;
    int most = 0;

    for (size_t i = 0; i < PDR_COUNT(stores); i++) {
        const pdr_value *store = pdr_value_get_c(session, stores[i]);
        int points = 0; /* it is the key of messages that are kept elsewhere */

        if (pdr__is_nothing(store))
            points = (i == 2) == python ? 1 : 0;
        else if (pdr_value_kind(store) == PDR_OBJECT)
            points =
                pdr__is_nothing(pdr_value_get_c(store, "messages")) ? 2 : 3;
        if (points > most) {
            best = stores[i];
            most = points;
        }
    }
    add_list(l, l->session, best, "messages");
    if (most == 0)
        l->absent = spot;
}

static void add_session(struct pdr__layout *l, const pdr_value *value,
                        const pdr_session *session)
{
    pdr_session_shape shape = pdr_session_get_shape(session);
    const struct shape_names *names = pdr__shape_names(shape);
    const pdr_value *own = pdr_value_get_c(value, "perdure");
    bool python = names->messages == PDR_SHAPE_PYTHON;
    size_t bag = PDR_NO_SPOT;

    l->shape = python ? PDR_ROW_PYTHON : PDR_ROW_DOTNET;
    if (names->sealed) {
        add_thread(l, value, python);
        return;
    }
    bag = add_spot(l, PDR_SPOT_BAG, l->session, names->bag);
    if (shape != PDR_SESSION_NATIVE ||
        pdr__is_nothing(pdr_value_get_c(own, "document"))) {
        add_list(l, bag, names->history, "messages");
        return;
    }
    add_bundle(l, l->session);
}

void pdr__layout_every(struct pdr__layout *layout)
{
    static const pdr_session_shape bags[] = {PDR_SESSION_NATIVE,
                                             PDR_SESSION_PYTHON};
    struct pdr__layout *l = layout;
    size_t levels[2] = {0, 0};

    memset(l, 0, sizeof(*l));
    levels[0] = add_spot(l, PDR_SPOT_OBJECT, PDR_NO_SPOT, "");
    add_spot(l, PDR_SPOT_PROPERTIES, 0, "additionalProperties");
    levels[1] = add_spot(l, PDR_SPOT_OBJECT, 0, "session");
    for (size_t k = 0; k < PDR_COUNT(levels); k++) {
        for (size_t i = 0; i < PDR_COUNT(bags); i++) {
            const struct shape_names *names = pdr__shape_names(bags[i]);

            add_list(l, add_spot(l, PDR_SPOT_BAG, levels[k], names->bag),
                     names->history, "messages");
        }
        for (size_t i = 0; i < PDR_COUNT(stores); i++)
            add_list(l, levels[k], stores[i], "messages");
        add_state(l, levels[k]);
        add_bundle(l, levels[k]);
    }
    l->absent = PDR_NO_SPOT;
}

bool pdr__layout_equal(const struct pdr__layout *a, const struct pdr__layout *b)
{
    if (a->count != b->count || a->session != b->session ||
        a->document != b->document || a->absent != b->absent ||
        a->shape != b->shape)
        return false;
    for (size_t i = 1; i < a->count; i++) {
        if (a->spots[i].kind != b->spots[i].kind ||
            a->spots[i].parent != b->spots[i].parent ||
            strcmp(a->spots[i].name, b->spots[i].name) != 0)
            return false;
    }
    return true;
}

size_t pdr__layout_child(const struct pdr__layout *layout, size_t parent,
                         const pdr_value *name)
{
    for (size_t i = 1; i < layout->count; i++) {
        if (layout->spots[i].parent == parent && i != layout->absent &&
            pdr_value_text_is(name, pdr_str_c(layout->spots[i].name)))
            return i;
    }
    return PDR_NO_SPOT;
}

size_t pdr__layout_only(const struct pdr__layout *layout, size_t parent)
{
    for (size_t i = 1; i < layout->count; i++) {
        if (layout->spots[i].parent == parent)
            return i;
    }
    return PDR_NO_SPOT;
}

/* --- recognising -----------------------------------------------------------
 */

void pdr__about_dispose(struct pdr__about *about)
{
    pdr_buf_dispose(&about->id);
    pdr_buf_dispose(&about->agent);
    pdr_buf_dispose(&about->version);
}

static pdr_rc read_state(struct pdr__about *about, const pdr_value *state,
                         pdr_err *err)
{
    char scratch[PDR_SHORT_TEXT];
    pdr_str version = {NULL, 0};
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_state_gate(state, err));
    if (pdr__short_text(&version, scratch,
                        pdr_value_get_c(state, "schemaVersion"))) {
        pdr_buf_clear(&about->version);
        PDR_TRY(pdr_buf_append(&about->version, version, err));
    } /* else the gate would not let it in */
done:
    return rc;
}

static pdr_rc read_ids(struct pdr__about *about, const pdr_session *session,
                       pdr_err *err)
{
    bool python = pdr__shape_names(pdr_session_get_shape(session))->messages ==
                  PDR_SHAPE_PYTHON;
    pdr_str agent = {NULL, 0}, key = {NULL, 0};
    pdr_rc rc = PDR_OK;

    pdr_buf_clear(&about->id);
    pdr_buf_clear(&about->agent);
    about->path = python ? "/session_id" : "/perdure/id";
    if (!pdr_session_durable_id(&agent, &key, session))
        return pdr_buf_append(&about->id, pdr_session_id(session), err);
    about->path = python ? "/durable_session_id" : "/sessionId";
    PDR_TRY(pdr_buf_append(&about->agent, agent, err));
    PDR_TRY(pdr_buf_append(&about->id, PDR_LIT("@dafx-"), err));
    PDR_TRY(pdr_buf_append(&about->id, agent, err));
    PDR_TRY(pdr_buf_append(&about->id, PDR_LIT("@"), err));
    PDR_TRY(pdr_buf_append(&about->id, key, err));
done:
    return rc;
}

/* A session or state document, without a wrapper. */
static pdr_rc recognise_inner(struct pdr__layout *l, struct pdr__about *about,
                              const pdr_value *value, pdr_err *err)
{
    const pdr_value *own = pdr_value_get_c(value, "perdure");
    const char *durable = pdr_session_kind_name(PDR_SESSION_KIND_DURABLE);
    pdr_session *session = NULL;
    pdr_rc rc = PDR_OK;

    pdr_buf_clear(&about->version);
    if (pdr_session_looks(value) == PDR_LOOKS_STATE) {
        about->kind = durable;
        add_state(l, l->session);
        return read_state(about, value, err);
    }
    PDR_TRY(pdr_session_from_value(&session, value, err));
    about->kind = pdr_session_kind_name(pdr_session_get_kind(session));
    add_session(l, value, session);
    PDR_TRY(read_ids(about, session, err));
    if (l->document == PDR_NO_SPOT)
        goto done;
    /* Without a durable id a native bundle does not say so itself. */
    if (pdr_session_get_kind(session) == PDR_SESSION_KIND_UNSTATED)
        about->kind = durable;
    rc = read_state(about, pdr_value_get_c(own, "document"), err);
    if (rc != PDR_OK) {
        pdr__path_below(err, PDR_LIT("document"));
        pdr__path_below(err, PDR_LIT("perdure"));
    }
done:
    pdr_session_free(session);
    return rc;
}

pdr_rc pdr__recognise(struct pdr__layout *layout, struct pdr__about *about,
                      const pdr_value *skeleton, pdr_err *err)
{
    struct pdr__layout *l = layout;
    pdr_looks looks = pdr_session_looks(skeleton);
    const pdr_value *inner = pdr_value_get_c(skeleton, "session");
    pdr_rc rc = PDR_OK;

    memset(l, 0, sizeof(*l));
    l->document = PDR_NO_SPOT;
    l->absent = PDR_NO_SPOT;
    l->session = add_spot(l, PDR_SPOT_OBJECT, PDR_NO_SPOT, "");
    /* As src/metadata/wrapper.c: what looks like a session is one. */
    l->wrapped =
        inner != NULL && looks != PDR_LOOKS_SESSION && looks != PDR_LOOKS_STATE;
    if (l->wrapped) {
        add_spot(l, PDR_SPOT_PROPERTIES, 0, "additionalProperties");
        l->session = add_spot(l, PDR_SPOT_OBJECT, 0, "session");
    }
    rc = recognise_inner(l, about, l->wrapped ? inner : skeleton, err);
    if (rc != PDR_OK && l->wrapped)
        pdr__path_below(err, PDR_LIT("session"));
    if (rc != PDR_OK && err != NULL)
        err->offset = -1; /* it would be one of the skeleton */
    return rc;
}
