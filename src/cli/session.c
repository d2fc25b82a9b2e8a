/*
 * session.c - which sessions a verb is about, and what to do about a failure.
 *
 * Every verb of `perdure session` takes the same options for a store, a file or
 * a snapshot folder. A document that is no session is refused with the command
 * that takes it instead.
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

/* A path in the place of the options is a slip that shows. */
static int no_place(struct cli *cli, const char *word)
{
    struct stat info = {.st_mode = 0};
    char hint[160] = "name a place: --store URI, --file FILE or --folder DIR";
    char path[CLI_WORD_MAX];

    if (word != NULL && stat(word, &info) == 0)
        snprintf(hint, sizeof(hint), "write --%s %s",
                 S_ISDIR(info.st_mode) ? "folder" : "file",
                 cli_word(path, word, "PATH"));
    return doc_usage(cli, "--store, --file or --folder",
                     "one of them is missing", hint);
}

/* "--store and --file", if two places are named. */
static bool two_places(char *out, size_t cap, const struct ses_from *from)
{
    const struct {
        const char *value, *name;
    } places[] = {{from->store.uri, "--store"},
                  {from->file, "--file"},
                  {from->folder, "--folder"}};
    size_t count = 0, used = 0;

    for (size_t i = 0; i < CLI_COUNT(places); i++) {
        if (places[i].value == NULL || count == 2)
            continue;
        used += (size_t)snprintf(out + used, cap - used, "%s%s",
                                 count++ > 0 ? " and " : "", places[i].name);
    }
    return count == 2;
}

static int check_options(struct cli *cli, const struct ses_from *from)
{
    bool is_store = ses_from_is_store(from);

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

int ses_from_check(struct cli *cli, struct ses_from *from, const char *word)
{
    char names[40];

    if (two_places(names, sizeof(names), from))
        return doc_usage(cli, names, "only one of them can be given", "");
    if (!ses_from_is_store(from) && from->file == NULL &&
        from->folder == NULL && !sto_find_default(&from->store))
        return no_place(cli, word);
    return check_options(cli, from);
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
    /* Its name stands in front of the text already. */
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
    pdr_rc rc =
        pdr_codec_write(&bytes, pdr_msgpack_codec(), *io, &exchange, err);

    if (rc == PDR_OK)
        rc = pdr_codec_read(&read, pdr_msgpack_codec(), pdr_buf_str(&bytes),
                            &deep, err);
    pdr_buf_dispose(&bytes);
    if (rc != PDR_OK)
        return rc;
    pdr_value_free(*io);
    *io = read;
    return PDR_OK;
}

/* --- failures ------------------------------------------------------------ */

#define ANY_DOCUMENT "'perdure check' and 'perdure fmt' take any document"

/* What is no session may be something else that perdure knows. */
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

/* For reasons that are enough to know. */
static const char *reason_hint(const char *reason)
{
    static const struct {
        const char *reason, *hint;
    } hints[] = {
        {"bag_sealed", "a document of before there were bags is only read; "
                       "'perdure session convert' makes a session of it"},
        {"session_version", "a newer program wrote it; nothing was changed"},
        {"generation_changed", "nothing was written; look at it again, then "
                               "repeat"},
        {"file_changed", "try again"},
        {"cannot_create", "it is as it was; a new file is written beside it "
                          "first, so its folder must be writable"},
        {"read_only", "it is as it was; 'chmod u+w' on it allows the change"},
        {"file_locked", "nothing was written; try again"},
        {"envelope", "the file stays as it is; 'perdure session show --file' "
                     "may read it"},
        {"key_collision", "the files stay as they are; rename one of them"},
        {"file_link", "links are not followed in a folder; name the folder "
                      "that they lead to"},
        {"folder_key", "a key has 1 to 128 characters"},
        {"file_failed", ""},
        {"session_member", "nothing was changed"},
        {"several_sessions", "name one by id, name or place, as in /0"},
        {"sync_failed", "look whether the change is there before you repeat "
                        "it"},
    };

    for (size_t i = 0; i < CLI_COUNT(hints); i++)
        if (strcmp(hints[i].reason, reason) == 0)
            return hints[i].hint;
    return NULL;
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

/* Files of a folder are for other programs, so not every value can be there. */
static bool is_no_place(const char *reason)
{
    static const char *const reasons[] = {"bare_token", "lone_surrogate",
                                          "number_range", "inexact_number",
                                          "duplicate_name"};

    for (size_t i = 0; i < CLI_COUNT(reasons); i++)
        if (strcmp(reasons[i], reason) == 0)
            return true;
    return false;
}

/* May the files of a folder be read, but not changed? */
static bool is_read_only(const char *folder)
{
    return folder != NULL && access(folder, R_OK | X_OK) == 0 &&
           access(folder, W_OK) != 0;
}

const char *ses_hint(char out[SES_HINT_MAX], const struct ses_from *from,
                     const pdr_value *value, const pdr_err *err)
{
    if (ses_from_is_store(from))
        return sto_hint(out, &from->store, err);
    if (strcmp(err->reason, "session_unknown_shape") == 0 ||
        strcmp(err->reason, "session_not_object") == 0)
        return other_hint(value);
    if (list_hint(out, from, err->reason) != NULL)
        return out;
    if (strcmp(err->reason, "no_folder") == 0)
        return "check the name of the folder";
    if (from->folder != NULL && is_no_place(err->reason))
        return "the format of the folder has no place for it";
    if (strcmp(err->reason, "file_failed") == 0 && is_read_only(from->folder))
        return "nothing was changed; a change needs a folder that you may "
               "write";
    return reason_hint(err->reason);
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
