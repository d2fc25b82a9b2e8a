/*
 * session.c - which sessions a verb is about, and what to do about a failure.
 *
 * Every verb of `perdure session` takes the same options for a store, a file or
 * a snapshot folder. A document that is not a session is refused with the
 * command that takes it instead.
 */
#include "session_parts.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- options ------------------------------------------------------------- */

const char *const ses_folder_words[] = {"json", "msgpack", NULL};

void ses_from_init(struct ses_from *from)
{
    memset(from, 0, sizeof(*from));
    from->format = CLI_NO_FORM;
    doc_reading_init(&from->how);
}

int ses_from_check(struct cli *cli, struct ses_from *from, const char *word)
{
    const struct {
        const char *value, *name;
    } places[] = {{from->store.uri, "--store"},
                  {from->file, "--file"},
                  {from->folder, "--folder"}};
    const char *first = NULL;
    bool is_store = false;
    char names[40], path[CLI_WORD_MAX];
    char hint[160] = "name a place: --store URI, --file FILE or --folder DIR";
    struct stat info = {.st_mode = 0};

    for (size_t i = 0; i < CLI_COUNT(places); i++) {
        if (places[i].value != NULL && first != NULL) {
            snprintf(names, sizeof(names), "%s and %s", first, places[i].name);
            return doc_usage(cli, names, "only one of them can be given", "");
        }
        if (places[i].value != NULL)
            first = places[i].name;
    }
    if (first == NULL && !sto_find_default(&from->store)) {
        /* A path in the place of the options is a slip that shows. */
        if (word != NULL && stat(word, &info) == 0)
            snprintf(hint, sizeof(hint), "write --%s %s",
                     S_ISDIR(info.st_mode) ? "folder" : "file",
                     cli_word(path, word, "PATH"));
        return doc_usage(cli, "--store, --file or --folder",
                         "one of them is missing", hint);
    }
    is_store = ses_from_is_store(from);
    if (from->folder == NULL && from->format != CLI_NO_FORM)
        return doc_usage(cli, "--format", "is for folders",
                         is_store ? "" : "--from is the format of a file");
    if (from->file == NULL && from->how.from != CLI_NO_FORM)
        return doc_usage(cli, "--from", "is for files",
                         is_store ? "" : "--format is the format of a folder");
    if (!is_store && (from->store.tenant != NULL || from->store.key != NULL))
        return doc_usage(cli, from->store.key != NULL ? "--key" : "--tenant",
                         "is for stores", "");
    return 0;
}

int ses_missing(struct cli *cli, const char *what, const char *hint)
{
    struct cli_usage bad = {.reason = "missing_argument",
                            .why = "an argument is missing"};

    snprintf(bad.what, sizeof(bad.what), "%s", what);
    snprintf(bad.hint, sizeof(bad.hint), "%s", hint);
    return cli_usage_fail(cli, &bad);
}

int ses_limits_check(struct cli *cli, const struct ses_from *from)
{
    const struct cli_limits *limits = &from->how.limits;
    const char *option = limits->bare_tokens     ? "--bare-tokens"
                         : limits->max_depth > 0 ? "--max-depth"
                         : limits->max_bytes > 0 ? "--max-bytes"
                         : limits->max_nodes > 0 ? "--max-nodes"
                                                 : NULL;

    if (!ses_from_is_store(from) || option == NULL)
        return 0;
    return doc_usage(cli, option, "is for files",
                     "what is in a store was checked when it came in");
}

int ses_store_check(struct cli *cli, struct sto_from *store)
{
    if (store->uri != NULL || sto_find_default(store))
        return 0;
    return doc_usage(cli, "--store", "the store is missing",
                     "write --store URI; a bare path is SQLite");
}

const char *ses_from_name(const struct ses_from *from)
{
    if (ses_from_is_store(from))
        return sto_name(&from->store);
    return from->folder != NULL ? from->folder : cli_input_name(from->file);
}

const char *ses_from_word(const struct ses_from *from)
{
    if (ses_from_is_store(from))
        return "store";
    return from->folder != NULL ? "folder" : "file";
}

const char *ses_from_arg(const struct ses_from *from)
{
    if (ses_from_is_store(from))
        return from->store.uri;
    return from->folder != NULL ? from->folder : from->file;
}

const char *ses_out_name(const char *path)
{
    return strcmp(path, "-") == 0 ? "standard output" : path;
}

/* --- folders ------------------------------------------------------------- */

/* Is this extension in a file name, at its end or, of a file that was put
 * aside, before it? */
static bool has_extension(const char *name, const char *extension)
{
    const char *at = strstr(name, extension);

    return at != NULL &&
           (at[strlen(extension)] == '\0' || at[strlen(extension)] == '.');
}

/* The format of the files that are there; JSON if there are none. */
static pdr_folder_format guess_format(const char *path)
{
    size_t json = 0, msgpack = 0;
    DIR *folder = opendir(path);

    if (folder == NULL) /* pdr_folder_open() says why */
        return PDR_FOLDER_JSON;
    for (struct dirent *e = readdir(folder); e != NULL; e = readdir(folder)) {
        json += has_extension(e->d_name, ".json");
        msgpack += has_extension(e->d_name, ".msgpack");
    }
    closedir(folder);
    return json == 0 && msgpack > 0 ? PDR_FOLDER_MSGPACK : PDR_FOLDER_JSON;
}

pdr_rc ses_folder_open(pdr_folder **out, struct ses_from *from, bool create,
                       pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    if (from->format == CLI_NO_FORM)
        from->format = guess_format(from->folder);
    rc = pdr_folder_open(out, from->folder, (pdr_folder_format)from->format,
                         create, err);
    /* Its name is in front of the text already. */
    if (rc == PDR_ENOTFOUND && !create)
        rc = pdr_err_set(err, rc, "no_folder", "there is no such folder");
    return rc;
}

pdr_rc ses_folder_get(pdr_session **out, pdr_generation *generation,
                      pdr_folder *folder, pdr_str key, bool change,
                      pdr_err *err, pdr_doc_finding_fn fn, void *arg)
{
    pdr_rc rc = pdr_folder_get(out, generation, folder, key, err, fn, arg);

    if (rc != PDR_ECORRUPT || !change)
        return rc;
    rc = pdr_folder_set_aside(folder, key, err);
    /* A good file came meanwhile. */
    return rc == PDR_OK
               ? pdr_folder_get(out, generation, folder, key, err, fn, arg)
               : rc;
}

pdr_rc ses_exchange(pdr_value **io, pdr_write_report *lost, pdr_err *err)
{
    const pdr_write_opts exchange = {.flags = PDR_EXCHANGE | PDR_BARE_TOKENS,
                                     .report = lost};
    const pdr_read_opts deep = {.flags = PDR_BARE_TOKENS, .max_depth = 1024};
    pdr_buf bytes = PDR_BUF_INIT(SIZE_MAX);
    pdr_value *read = NULL;
    pdr_rc rc = PDR_OK;

    CLI_TRY(pdr_codec_write(&bytes, pdr_msgpack_codec(), *io, &exchange, err));
    CLI_TRY(pdr_codec_read(&read, pdr_msgpack_codec(), pdr_buf_str(&bytes),
                           &deep, err));
    pdr_value_free(*io);
    *io = read;
done:
    pdr_buf_dispose(&bytes);
    return rc;
}

/* --- sessions one after the other ---------------------------------------- */

pdr_rc ses_each_item(struct cli_input *in, const struct cli_form *form,
                     const struct cli_limits *limits, pdr_err *err,
                     ses_item_fn fn, void *arg)
{
    const pdr_read_opts opts = cli_form_walk_opts(&form->format, limits);
    pdr_session_reader *reader = NULL;
    bool end = false;
    pdr_rc rc = pdr_session_reader_new(&reader, form->format.codec, &opts, true,
                                       err, cli_input_some, in);

    while (rc == PDR_OK && !end) {
        pdr_session *session = NULL;
        pdr_session_item item = {.value = NULL};

        rc = pdr_session_reader_next(&session, &item, &end, reader, err);
        if (rc == PDR_OK && !end)
            rc = fn(session, &item, err, arg);
        pdr_value_free(item.value);
        pdr_session_free(session);
    }
    pdr_session_reader_free(reader);
    return rc;
}

pdr_rc ses_folder_read(pdr_session **out, pdr_value **value, pdr_buf *path,
                       const struct cli *cli, const char *folder, pdr_str file,
                       pdr_err *err)
{
    const struct cli_limits limits = {.bare_tokens = true};
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    struct cli_form form;
    pdr_rc rc = PDR_OK;

    pdr_buf_clear(path);
    cli_putf(path, "%s/%.*s", folder, (int)file.len, file.ptr);
    cli_must(pdr_buf_append(path, pdr_str_n("", 1), NULL), NULL);
    CLI_TRY(cli_input_value(value, &text, &form, cli, path->ptr, CLI_NO_FORM,
                            &limits, err));
    CLI_TRY(pdr_session_from_value(out, *value, err));
done:
    pdr_buf_dispose(&text);
    return rc;
}

/* --- failures ------------------------------------------------------------ */

#define ANY_DOCUMENT "'perdure check' and 'perdure fmt' take any document"
#define NO_PLACE     "the format of the folder has no place for it"

/* What is not a session may be something else that perdure knows. */
static const char *other_hint(const pdr_value *value)
{
    switch (value != NULL ? pdr_session_looks(value) : PDR_LOOKS_OTHER) {
    case PDR_LOOKS_STATE:
        return "it is the state document of a durable agent: 'perdure doc "
               "show' reads it";
    case PDR_LOOKS_MESSAGES:
        return "messages alone are no session; " ANY_DOCUMENT;
    case PDR_LOOKS_TOKEN:
        return "a token is for the program that made it; " ANY_DOCUMENT;
    case PDR_LOOKS_OTHER:
    case PDR_LOOKS_SESSION:
    case PDR_LOOKS_LIST:
    case PDR_LOOKS_MAP:
    case PDR_LOOKS_WRAPPER:
    case PDR_LOOKS_WRAPPERS:
        break;
    }
    return "a session has a member stateBag or session_id; " ANY_DOCUMENT;
}

bool ses_is_chat(pdr_str text)
{
    pdr_chat_state *state = NULL;
    bool is_chat =
        pdr_chat_open(&state, NULL, NULL, pdr_read_str, &text) == PDR_OK;

    pdr_chat_state_free(state);
    return is_chat;
}

/* The command that takes a chat in the place of a session; NULL: it is none. */
static const char *chat_hint(char out[SES_HINT_MAX],
                             const struct ses_from *from,
                             const pdr_value *value)
{
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    char word[CLI_WORD_MAX];
    bool is_chat = value != NULL && ses_is_chat(doc_json(value, &scratch));

    pdr_buf_dispose(&scratch);
    if (!is_chat)
        return NULL;
    snprintf(out, SES_HINT_MAX,
             "it is a saved chat of several agents: 'perdure group show --file "
             "%s' shows it",
             cli_word(word, from->file != NULL ? from->file : "FILE", "FILE"));
    return out;
}

/* "'perdure session list --folder DIR' shows what is there", for reasons that a
 * list explains; NULL for others. */
static const char *list_hint(char out[SES_HINT_MAX],
                             const struct ses_from *from, const char *reason)
{
    static const struct {
        const char *reason, *before, *after;
    } hints[] = {
        {"no_session", "", "what is there"},
        {"damaged", "the file is as it was; ", "what cannot be read"},
        {"quarantined", "nothing was written; ", "the file, which is kept"},
        {"quarantine_full", "", "them; remove those that nobody needs"},
    };
    char word[CLI_WORD_MAX];

    for (size_t i = 0; i < CLI_COUNT(hints); i++) {
        if (strcmp(hints[i].reason, reason) != 0)
            continue;
        snprintf(out, SES_HINT_MAX, "%s'perdure session list --%s %s' shows %s",
                 hints[i].before, ses_from_word(from),
                 cli_word(word, ses_from_arg(from), "PATH"), hints[i].after);
        return out;
    }
    return NULL;
}

const char *ses_hint(char out[SES_HINT_MAX], const struct ses_from *from,
                     const pdr_value *value, const pdr_err *err)
{
    static const struct {
        const char *reason, *hint;
        bool is_folder; /* said of folders alone */
    } hints[] = {
        /* Files of a folder are for other programs, so not every value can be
         * there. */
        {"bare_token", NO_PLACE, true},
        {"lone_surrogate", NO_PLACE, true},
        {"number_range", NO_PLACE, true},
        {"inexact_number", NO_PLACE, true},
        {"duplicate_name", NO_PLACE, true},
        {"no_folder", "check the name of the folder", false},
        {"bag_sealed",
         "a document of before there were bags is only read; "
         "'perdure session convert' makes a session of it",
         false},
        {"session_version", "a newer program wrote it; nothing was changed",
         false},
        {"generation_changed",
         "nothing was written; look at it again, then "
         "repeat",
         false},
        {"file_changed", "try again", false},
        {"cannot_create",
         "it is as it was; a new file is written beside it "
         "first, so its folder must be writable",
         false},
        {"read_only", "it is as it was; 'chmod u+w' on it allows the change",
         false},
        {"file_locked", "nothing was written; try again", false},
        {"envelope",
         "the file stays as it is; 'perdure session show --file' "
         "may read it",
         false},
        {"key_collision", "the files stay as they are; rename one of them",
         false},
        {"file_link",
         "links are not followed in a folder; name the folder "
         "that they lead to",
         false},
        {"folder_key", "a key has 1 to 128 characters", false},
        {"file_failed", "", false},
        {"session_member", "nothing was changed", false},
        {"several_sessions", "name one by id, name or place, as in /0", false},
        {"sync_failed",
         "look whether the change is there before you repeat "
         "it",
         false},
    };
    bool is_read_only = from->folder != NULL &&
                        access(from->folder, R_OK | X_OK) == 0 &&
                        access(from->folder, W_OK) != 0;

    if (ses_from_is_store(from))
        return sto_hint(out, &from->store, err);
    if (strcmp(err->reason, "session_unknown_shape") == 0 ||
        strcmp(err->reason, "session_not_object") == 0)
        return chat_hint(out, from, value) != NULL ? out : other_hint(value);
    if (list_hint(out, from, err->reason) != NULL)
        return out;
    if (strcmp(err->reason, "file_failed") == 0 && is_read_only)
        return "nothing was changed; a change needs a folder that you may "
               "write";
    for (size_t i = 0; i < CLI_COUNT(hints); i++)
        if (strcmp(hints[i].reason, err->reason) == 0 &&
            (!hints[i].is_folder || from->folder != NULL))
            return hints[i].hint;
    return NULL;
}

const char *ses_lines_hint(const pdr_err *err, pdr_str input)
{
    if (strcmp(err->reason, "trailing_data") != 0 ||
        cli_hint(err, input, 0)[0] == '\0')
        return NULL;
    return "a file holds one document; --from jsonl reads several, as in JSON "
           "Lines";
}

void ses_err_in(pdr_err *err, const char *place)
{
    char text[PDR_ERR_MESSAGE];

    snprintf(text, sizeof(text), "%s", err->message);
    snprintf(err->message, sizeof(err->message), "%.50s: %.180s", place, text);
    err->offset = -1;
}

void ses_err_in_element(pdr_err *err, uint64_t index)
{
    char place[40];

    snprintf(place, sizeof(place), "element /%ju", (uintmax_t)index);
    ses_err_in(err, place);
}

void ses_err_element(pdr_err *err, uint64_t index)
{
    if (index > 0)
        ses_err_in_element(err, index);
}

int ses_fail(const struct cli *cli, const struct ses_from *from,
             const pdr_value *value, pdr_str text, const pdr_err *err)
{
    char room[SES_HINT_MAX];
    struct cli_about about = {.name = ses_from_name(from), .input = text};

    about.hint = ses_hint(room, from, value, err);
    if (about.hint == NULL)
        about.hint = ses_lines_hint(err, text);
    return cli_fail(cli, &about, err);
}
