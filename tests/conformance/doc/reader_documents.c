/*
 * reader_documents.c - documents that the readers wrote themselves: they load
 * and run them, and lose nothing but what is known.
 */
#include "test.h"

struct tally {
    size_t notes, warnings, errors;
};

static pdr_rc count(const pdr_doc_finding *finding, pdr_err *err, void *arg)
{
    struct tally *tally = arg;

    (void)err;
    tally->notes += finding->severity == PDR_SEVERITY_INFO;
    tally->warnings += finding->severity == PDR_SEVERITY_WARNING;
    tally->errors += finding->severity == PDR_SEVERITY_ERROR;
    return PDR_OK;
}

static pdr_reader_verdict check(struct tally *tally, const char *path,
                                pdr_reader reader)
{
    pdr_reader_verdict verdict = {false, false};
    size_t len = 0;
    char *text = test_read_data(path, &len);

    memset(tally, 0, sizeof(*tally));
    ASSERT_RC(PDR_OK, pdr_state_check_reader(&verdict, pdr_str_n(text, len),
                                             reader, NULL, count, tally));
    free(text);
    return verdict;
}

/* Names without folder and ending. */
static const char *const by_dotnet[] = {
    "01-empty-state",
    "02-one-turn",
    "03-tool-loop",
    "04-tool-loop-next-turn",
    "05-orchestration-and-schemas",
    "06-text-and-reasoning",
    "07-data-and-uri",
    "08-errors",
    "09-usage",
    "10-hosted",
    "11-unknown-contents",
    "12-call-arguments",
    "13-call-results",
    "14-escaping",
    "15-dates",
    "16-many-messages-and-roles",
    "17-response-without-messages",
    "18-duplicate-request",
    "19-no-expiry",
    "20-twenty-five-turns",
    "21-unknown-members.out",
    "22-version-1-0-0.out",
    "23-nulls-and-dates.out",
};

static const struct {
    const char *name;
    bool fits_dotnet;
} by_python[] = {
    {"01-one-turn", true},
    {"02-json-transport", true},
    {"03-failed-turn", true},
    {"04-tool-loop", true},
    {"05-call-arguments", false}, /* an array as arguments */
    {"06-call-results", true},
    {"07-reasoning", true},
    {"08-data-and-uri", true},
    {"09-errors", true},
    {"10-usage", true},
    {"11-hosted", true},
    {"12-unknown-contents", true},
    {"12-unknown-contents.1.0.0b260922", true},
    {"13-response-format", true},
    {"14-non-ascii", false}, /* half a surrogate pair */
    {"15-dates", true},
    {"16-roles", true},
    {"17-empty", true},
    {"18-duplicate-request", true},
    {"19-twenty-five-turns", true},
    {"20-dotnet-document.out", true},
    {"21-extension-data.out", true},
    {"22-version-2.out", false}, /* another major version */
    {"23-version-missing.out", true},
    {"24-stock-agent-tool-loop.1.0.0b260922", true},
    {"25-approval-request.1.0.0b260922", true},
};

TEST(reader_check, finds_no_fault_with_what_dotnet_wrote)
{
    for (size_t i = 0; i < sizeof(by_dotnet) / sizeof(by_dotnet[0]); i++) {
        struct tally tally;
        char path[100];

        (void)snprintf(path, sizeof(path), "dotnet/durable/%s.json",
                       by_dotnet[i]);
        pdr_reader_verdict verdict = check(&tally, path, PDR_READER_DOTNET);
        if (!verdict.loads || !verdict.runs || tally.warnings + tally.errors)
            fail_msg("%s: not as .NET left it", path);
        /* All of them run in Python too. */
        verdict = check(&tally, path, PDR_READER_PYTHON);
        if (!verdict.loads || !verdict.runs)
            fail_msg("%s: Python ran it", path);
    }
}

TEST(reader_check, knows_what_dotnet_refuses_of_what_python_wrote)
{
    for (size_t i = 0; i < sizeof(by_python) / sizeof(by_python[0]); i++) {
        bool version_2 = strcmp(by_python[i].name, "22-version-2.out") == 0;
        struct tally tally;
        char path[100];

        (void)snprintf(path, sizeof(path), "python/durable/%s.json",
                       by_python[i].name);
        pdr_reader_verdict verdict = check(&tally, path, PDR_READER_PYTHON);
        if (!verdict.loads || !verdict.runs || tally.errors > 0 ||
            tally.warnings != version_2)
            fail_msg("%s: not as Python left it", path);
        verdict = check(&tally, path, PDR_READER_DOTNET);
        if (verdict.loads != by_python[i].fits_dotnet ||
            verdict.runs != by_python[i].fits_dotnet)
            fail_msg("%s: .NET gave another verdict", path);
    }
}
