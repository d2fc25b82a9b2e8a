/*
 * Definition files: what is loaded, what is refused and where, and what is said
 * about the rest.
 */
#include "host_test.h"

static const char *data_folder(void)
{
    static char folder[512];

    snprintf(folder, sizeof(folder), "%s/host", test_data_folder());
    return folder;
}

/* Load `text`, with a client for files that have none. */
static pdr_rc load(pdr_host *host, const pdr_host_agent **out, pdr_str text,
                   pdr_buf *notices, pdr_err *err)
{
    const pdr_tool tools[] = {{.name = "lookup", .fn = tool_nothing}};
    pdr_client *client = new_client();
    const pdr_definition definition = {.text = text,
                                       .folder = data_folder(),
                                       .tools = tools,
                                       .tool_count = 1,
                                       .client = client,
                                       .env = test_env};
    pdr_rc rc = pdr_host_load(out, host, &definition, err,
                              notices != NULL ? note : NULL, notices);

    pdr_client_free(client);
    return rc;
}

/* --- what is loaded ------------------------------------------------------- */

static const struct {
    const char *text, *name;
    const char *notices; /* with the line breaks of note() */
} good[] = {
    {"kind: Prompt\nname: clerk\n", "clerk", ""},
    {"kind: prompt", "", ""},
    {"kind: PROMPT\nname: ~\n", "", ""},
    {"kind: Agent\r\nname: 'a b'\r\n", "a b", ""},
    {"\xEF\xBB\xBFkind: Prompt\nname: bom", "bom", ""},
    {"{\"kind\": \"Prompt\", \"name\": \"json\"}", "json", ""},
    {"--- # one\nkind: Prompt\nname: \xC3\xBC\n...\n", "\xC3\xBC", ""},
    {"kind: Prompt\nname: yes\n", "yes",
     "2:7 warning 'yes': a text here, but not in YAML 1.1, and the Python "
     "loader refuses it: put quotes around it\n"},
    {"kind: Prompt\nname: 5\n", "5",
     "2:7 warning '5': a text here, but not in YAML 1.1, and the Python "
     "loader refuses it: put quotes around it\n"},
    {"kind: Prompt\nname: 2026-11-18\n", "2026-11-18",
     "2:7 warning '2026-11-18': a text here, but not in YAML 1.1, and the "
     "Python loader refuses it: put quotes around it\n"},
    {"kind: Prompt\nname: 1.2.3\ndescription: 12-a\ninstructions: x5\n",
     "1.2.3", ""},
    {"kind: Prompt\ndisplayName: Clerk\nmetadata: {a: 1}\n"
     "additionalInstructions: x\ninputSchema: {}\ntemplate: {}\nsize: 7\n",
     "",
     "2:1 warning 'displayName': not used, nor by the Python loader\n"
     "3:1 info 'metadata': the Python loader ignores it\n"
     "4:1 warning 'additionalInstructions': not used, nor by the Python "
     "loader\n"
     "5:1 warning 'inputSchema': not used, nor by the Python loader\n"
     "6:1 warning 'template': not used, nor by the Python loader\n"
     "7:1 warning 'size': not used, and the Python loader refuses it\n"},
    {"kind: Prompt\nmodel:\n  id: m\n  publisher: x\n  provider: Foundry\n"
     "  options: {topK: 4, top_k: 4}\n",
     "",
     "4:3 warning 'publisher': not used, and the Python loader refuses it\n"
     "6:13 warning 'topK': not sent to the model, nor by the Python loader\n"},
    {"kind: Prompt\nmodel:\n  id: m\n  provider: OpenAI\n  apiType: Chat\n"
     "  connection: {kind: Key, endpoint: =Env.URL, apiKey: =Env.KEY}\n",
     "", ""},
    {"kind: Prompt\nmodel: {id: =Env.KEY, provider: OpenAI}\n", "",
     "2:33 info 'OpenAI': Chat Completions here; for the Python loader that "
     "is provider OpenAI with apiType Chat\n"},
    {"kind: Prompt\nmodel:\n  id: m\n  provider: openai\n  apiType: Responses\n"
     "  connection: {keyFile: key.txt, name: x, size: 1}\n",
     "",
     "4:13 info 'openai': Chat Completions here; for the Python loader that "
     "is provider OpenAI with apiType Chat\n"
     "6:16 info 'keyFile': the Python loader refuses it\n"
     "6:34 warning 'name': not used here\n"
     "6:43 warning 'size': not used, and the Python loader refuses it\n"},
    {"kind: Prompt\nmodel: {provider: script, connection: {file: r.json}}\n",
     "",
     "2:19 info 'script': the Python loader refuses it\n"
     "2:40 info 'file': the Python loader refuses it\n"},
    {"kind: Prompt\ntools:\n- kind: mcp\n  url: http://x/\n"
     "- {kind: function, name: lookup, strict: true, approvalMode: never}\n"
     "- {kind: web_search}\n",
     "",
     "3:9 warning 'mcp': tools of this kind are not offered here: the agent "
     "goes without it\n"
     "5:34 warning 'strict': not used here\n"
     "5:48 info 'approvalMode': the Python loader refuses it\n"
     "6:10 warning 'web_search': tools of this kind are not offered here: the "
     "agent goes without it\n"},
    {"kind: Prompt\ntools:\n- {kind: function, name: lookup, repeatable: "
     "true}\n",
     "", "3:34 info 'repeatable': the Python loader refuses it\n"},
    {"kind: Prompt\ntools:\n- kind: command\n  name: add\n  command: [cat]\n"
     "  repeatable: false\n",
     "", "3:9 info 'command': the Python loader refuses it\n"},
    {"kind: Prompt\noutputSchema:\n  properties:\n"
     "    n: {type: integer, minimum: 0, required: true}\n"
     "  additionalProperties: false\n",
     "",
     "4:24 info 'minimum': the Python loader refuses it in a schema\n"
     "5:3 info 'additionalProperties': the Python loader refuses it in a "
     "schema\n"},
};

TEST(definition, loads_what_it_may)
{
    COVERS("P-66");
    COVERS("P-69");
    COVERS("P-70");
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        pdr_buf notices = PDR_BUF_INIT(SIZE_MAX);
        const pdr_host_agent *agent = NULL;
        pdr_host *host = NULL;
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_OK, pdr_host_new(&host, &err));
        if (load(host, &agent, pdr_str_c(good[i].text), &notices, &err) !=
            PDR_OK)
            fail_msg("%s: %s", good[i].text, err.message);
        ASSERT_TEXT(good[i].name, agent->name);
        ASSERT_TEXT(good[i].notices, pdr_buf_str(&notices));
        ASSERT(agent->wrapper.agent == agent->agent);
        pdr_buf_dispose(&notices);
        pdr_host_free(host);
    }
}

/* --- what is refused ------------------------------------------------------ */

#define P "kind: Prompt\n"

static const struct {
    const char *text;
    const char *reason, *message;
} bad[] = {
    /* kinds and forms */
    {"", "bad_definition", "line 1, column 1: there is nothing in the file"},
    {"# nothing\n", "bad_definition",
     "line 2, column 1: there is nothing in the file"},
    {"---\n", "bad_definition",
     "line 2, column 1: a definition is a map: it begins with 'kind: Prompt'"},
    {"\n- kind: Prompt\n", "bad_definition",
     "line 2, column 1: a definition is a map: it begins with 'kind: Prompt'"},
    {"Prompt", "bad_definition",
     "line 1, column 1: a definition is a map: it begins with 'kind: Prompt'"},
    {"# first\nname: a\n", "bad_definition",
     "line 2, column 1: 'kind' is missing: write kind: Prompt"},
    {"name: a\nkind: Workflow\n", "bad_definition",
     "line 2, column 7: a definition is of kind Prompt, not 'Workflow'"},
    {"kind: agent\n", "bad_definition",
     "line 1, column 7: a definition is of kind Prompt, not 'agent'"},
    {"kind: [Prompt]\n", "bad_definition",
     "line 1, column 7: a text is expected here"},
    {"kind: =Env.KEY\n", "bad_definition",
     "line 1, column 7: this may be shown, so it may not come from a variable: "
     "write it out"},
    /* YAML */
    {P "---\n" P, "bad_yaml",
     "line 2, column 1: a second document begins; a file has one"},
    {P "name: a\nname: b\n", "duplicate_name",
     "line 3, column 1: 'name' is there twice"},
    {P "metadata: {x: 1, y: {z: 1, \"z\": 2}}\n", "duplicate_name",
     "line 2, column 28: 'z' is there twice"},
    {P "name: &x a\n", "bad_yaml",
     "line 2, column 7: anchors and aliases are not accepted; write the value "
     "again"},
    {P "metadata: &x {}\n", "bad_yaml",
     "line 2, column 11: anchors and aliases are not accepted; write the "
     "value again"},
    {P "name: *x\n", "bad_yaml",
     "line 2, column 7: anchors and aliases are not accepted; write the value "
     "again"},
    {P "metadata: {*x : 1}\n", "bad_yaml",
     "line 2, column 12: anchors and aliases are not accepted; write the "
     "value again"},
    {P "name: !!python/object:os.system x\n", "bad_yaml",
     "line 2, column 7: tags are not accepted; quotes make a text of anything"},
    {P "tools: !!set []\n", "bad_yaml",
     "line 2, column 8: tags are not accepted; quotes make a text of anything"},
    {P "? [a]\n: b\n", "bad_yaml", "line 2, column 3: a name must be a text"},
    {P "name: \"a\\0b\"\n", "bad_yaml",
     "line 2, column 7: a text may not have a NUL character"},
    {P "name:\ta: b\n", "bad_yaml",
     "line 2, column 8: not valid YAML: mapping values are not allowed in this "
     "context"},
    {P "\tname: a\n", "bad_yaml",
     "line 2, column 1: not valid YAML: found a tab character that violates "
     "indentation"},
    {P "name: \"a\n", "bad_yaml",
     "line 3, column 1: not valid YAML: found unexpected end of stream"},
    {P "tools: [\n", "bad_yaml",
     "line 3, column 1: not valid YAML: did not find expected node content"},
    {P "name: \xC3\xBC\xFF\n", "bad_utf8",
     "line 2, column 8: this is not UTF-8"},
    {P "name: \xC3\xBC \x01\n", "bad_yaml",
     "line 2, column 9: not valid YAML: control characters are not allowed"},
    /* texts, variables, secrets */
    {P "name: =1+1\n", "bad_definition",
     "line 2, column 7: a text that begins with '=' is an expression, and only "
     "=Env.NAME is understood"},
    {P "size: \"=Env.A-B\"\n", "bad_definition",
     "line 2, column 7: a text that begins with '=' is an expression, and only "
     "=Env.NAME is understood"},
    {P "tools: [{kind: function, name: lookup, description: =Env.}]\n",
     "bad_definition",
     "line 2, column 53: a text that begins with '=' is an expression, and "
     "only =Env.NAME is understood"},
    {P "description: =Env.NOT_SET\n", "no_variable",
     "line 2, column 14: the variable 'NOT_SET' is not set"},
    {P "description: '=Env.EMPTY'\n", "no_variable",
     "line 2, column 14: the variable 'EMPTY' is not set"},
    {P "description: =Env.BAD\n", "no_variable",
     "line 2, column 14: the variable 'BAD' is not UTF-8"},
    {P "name: =Env.KEY\n", "bad_definition",
     "line 2, column 7: this may be shown, so it may not come from a variable: "
     "write it out"},
    {P "name: {}\n", "bad_definition",
     "line 2, column 7: a text is expected here"},
    {P "name: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
       "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n",
     "bad_definition",
     "line 2, column 7: the name of an agent has at most 128 bytes"},
    {P "model:\n  connection:\n    apiKey: abc\n", "literal_secret",
     "line 4, column 13: a key is not written into the file: write apiKey: "
     "=Env.NAME, or keyFile: FILE"},
    {P "model: {connection: {key: 7}}\n", "literal_secret",
     "line 2, column 27: a key is not written into the file: write key: "
     "=Env.NAME, or keyFile: FILE"},
    {P "tools: [{kind: mcp, connection: {key: abc}}]\n", "literal_secret",
     "line 2, column 39: a key is not written into the file: write key: "
     "=Env.NAME, or keyFile: FILE"},
    {P "metadata: {ApiKey: abc}\n", "literal_secret",
     "line 2, column 20: a key is not written into the file: write ApiKey: "
     "=Env.NAME, or keyFile: FILE"},
    {P "metadata: []\n", "bad_definition",
     "line 2, column 11: 'metadata' must be a map"},
    /* models */
    {P "model: gpt\n", "bad_definition",
     "line 2, column 8: 'model' must be a map"},
    {P "model: {options: []}\n", "bad_definition",
     "line 2, column 18: 'options' must be a map"},
    {P "model: {options: {stop: =Env.NOT_SET}}\n", "no_variable",
     "line 2, column 25: the variable 'NOT_SET' is not set"},
    {P "model: {connection: x}\n", "bad_definition",
     "line 2, column 21: 'connection' must be a map"},
    {P "model: {id: []}\n", "bad_definition",
     "line 2, column 13: a text is expected here"},
    {P "model: {provider: =Env.KEY}\n", "bad_definition",
     "line 2, column 19: this may be shown, so it may not come from a "
     "variable: write it out"},
    {P "model: {apiType: =Env.KEY}\n", "bad_definition",
     "line 2, column 18: this may be shown, so it may not come from a "
     "variable: write it out"},
    {P "model: {provider: script}\n", "bad_definition",
     "line 2, column 8: a script is in a file: write connection: {file: "
     "replies.json}"},
    {P "model: {provider: script, connection: {file: no.json}}\n",
     "bad_definition",
     "line 2, column 46: cannot read 'no.json': No such file or directory"},
    {P "model: {provider: script, connection: {file: .}}\n", "bad_definition",
     "line 2, column 46: cannot read '.': Is a directory"},
    {P "model: {provider: script, connection: {file: =Env.KEY}}\n",
     "bad_definition",
     "line 2, column 46: cannot read '=Env.KEY': No such file or directory"},
    {P "model: {provider: script, connection: {kind: []}}\n", "bad_definition",
     "line 2, column 46: a text is expected here"},
    {P "model: {id: m, provider: OpenAI, connection: {kind: reference}}\n",
     "bad_definition",
     "line 2, column 53: a connection is of kind key, remote or anonymous, not "
     "'reference'"},
    {P "model: {id: m, provider: OpenAI, connection: {endpoint: ftp://x}}\n",
     "bad_client",
     "line 2, column 46: the address of the model server must be "
     "http://HOST/PATH or https://HOST/PATH, without user, query and "
     "fragment"},
    {P "model: {id: m, provider: OpenAI, connection: {endpoint: {}}}\n",
     "bad_definition", "line 2, column 57: a text is expected here"},
    {P "model: {id: m, provider: OpenAI, connection: {key: =Env.NOT_SET}}\n",
     "no_variable", "line 2, column 52: the variable 'NOT_SET' is not set"},
    {P "model: {id: m, provider: OpenAI, connection: {keyFile: no}}\n",
     "bad_definition",
     "line 2, column 56: cannot read 'no': No such file or directory"},
    {P "model: {id: m, provider: OpenAI, connection: {keyFile: []}}\n",
     "bad_definition", "line 2, column 56: a text is expected here"},
    {P "model: {id: m, provider: OpenAI, connection: {keyFile: "
       "long-key.txt}}\n",
     "buffer_full",
     "line 2, column 56: 904 more bytes do not fit: 4096 of at most 4097 used"},
    /* schemas */
    {P "outputSchema: {properties: 5}\n", "bad_definition",
     "line 2, column 28: properties are a map or a list"},
    {P "outputSchema: [{type: string}]\n", "bad_definition",
     "line 2, column 16: a property has no name"},
    {P "outputSchema: [{name: [a]}]\n", "bad_definition",
     "line 2, column 16: a property has no name"},
    {P "outputSchema: [a]\n", "bad_definition",
     "line 2, column 16: a property has no name"},
    {P "outputSchema: [{name: a}, {name: a}]\n", "duplicate_name",
     "line 2, column 34: 'a' is there twice"},
    {P "outputSchema:\n  type: 7\n", "bad_schema", NULL},
    {P "outputSchema: {properties: {a: {enum: [=Env.KEY]}}}\n",
     "bad_definition",
     "line 2, column 40: this may be shown, so it may not come from a "
     "variable: write it out"},
    {P "outputSchema: {type: =Env.KEY}\n", "bad_definition",
     "line 2, column 22: this may be shown, so it may not come from a "
     "variable: write it out"},
    /* tools */
    {P "tools: {}\n", "bad_definition",
     "line 2, column 8: 'tools' must be a list"},
    {P "tools: [lookup]\n", "bad_definition",
     "line 2, column 9: a tool is a map, with kind: function or kind: "
     "command"},
    {P "tools:\n- {name: a, kind: http}\n", "bad_definition",
     "line 3, column 19: a tool is of kind function or command, not 'http'"},
    {P "tools: [{kind: [a]}]\n", "bad_definition",
     "line 2, column 16: a text is expected here"},
    {P "tools: [{kind: function, name: =Env.KEY}]\n", "bad_definition",
     "line 2, column 32: this may be shown, so it may not come from a variable: "
     "write it out"},
    {P "tools: [{kind: function, name: a b, bindings: {lookup: {}}}]\n",
     "bad_tool",
     "line 2, column 9: the name of a tool has 1 to 64 letters, digits, '_' "
     "and '-'; this is 'a b'"},
    {P "tools: [{kind: function, bindings: [{name: lookup}]}]\n", "bad_tool",
     "line 2, column 9: the name of a tool has 1 to 64 letters, digits, '_' "
     "and '-'; this is ''"},
    {P "tools:\n- {kind: function, name: lookup}\n- {kind: function, name: "
       "lookup}\n",
     "tool_clash", "line 4, column 3: two tools are called 'lookup'"},
    {P "tools: [{kind: function, name: lookup, parameters: {type: 7}}]\n",
     "bad_schema", NULL},
    {P "tools: [{kind: function, name: lookup, approvalMode: {kind: "
       "specify}}]\n",
     "bad_definition",
     "line 2, column 54: 'approvalMode' must be always or never"},
    {P "tools: [{kind: function, name: lookup, approvalMode: {}}]\n",
     "bad_definition",
     "line 2, column 54: 'approvalMode' must be always or never"},
    {P "tools: [{kind: command, name: a, command: [cat], repeatable: maybe}]\n",
     "bad_definition", "line 2, column 62: 'repeatable' must be true or false"},
    {P "tools: [{kind: function, name: lookup, bindings: lookup}]\n",
     "bad_definition", "line 2, column 50: 'bindings' must be a list or a map"},
    {P "tools: [{kind: command, name: a, command: [cat], approval: always}]\n",
     "bad_definition", "line 2, column 50: 'approval' is not known here"},
    {P "tools: [{kind: command, name: a, command: [no-such]}]\n",
     "bad_definition", "line 2, column 44: there is no program 'no-such'"},
    {P "tools: [{kind: command, name: a, command: [./cat]}]\n",
     "bad_definition", "line 2, column 44: there is no program './cat'"},
    {P "tools: [{kind: command, name: a, command: [=Env.KEY]}]\n",
     "bad_definition",
     "line 2, column 44: the program may be shown, so it may not come from a "
     "variable: write it out"},
    {P "tools: [{kind: command, name: a, command: [cat], folder: no}]\n",
     "bad_definition", "line 2, column 58: there is no folder 'no'"},
    {P "tools: [{kind: command, name: a, command: [cat], folder: r.json}]\n",
     "bad_definition", "line 2, column 58: there is no folder 'r.json'"},
    {P "tools: [{kind: command, name: a}]\n", "bad_definition",
     "line 2, column 9: a command is a list: [program, argument, ...]"},
    {P "tools: [{kind: command, name: a, command: []}]\n", "bad_definition",
     "line 2, column 43: a command is a list: [program, argument, ...]"},
    {P "tools: [{kind: command, name: a, command: date -u}]\n",
     "bad_definition", "line 2, column 43: 'command' must be a list"},
    {P "tools: [{kind: command, name: a, command: [[x]]}]\n", "bad_definition",
     "line 2, column 44: a text is expected here"},
    {P "tools: [{kind: command, name: a, command: [x], environment: [A]}]\n",
     "bad_definition", "line 2, column 61: 'environment' must be a map"},
    {P "tools: [{kind: command, name: a, command: [x], environment: {A: "
       "=Env.NOT_SET}}]\n",
     "no_variable", "line 2, column 65: the variable 'NOT_SET' is not set"},
    {P "tools: [{kind: command, name: a, command: [x], folder: []}]\n",
     "bad_definition", "line 2, column 56: a text is expected here"},
    {P "tools: [{kind: command, name: a, command: [x], timeout: 0}]\n",
     "bad_definition",
     "line 2, column 57: 'timeout' must be a whole number from 1 to 86400"},
    {P "tools: [{kind: command, name: a, command: [x], timeout: '5'}]\n",
     "bad_definition",
     "line 2, column 57: 'timeout' must be a whole number from 1 to 86400"},
    {P "tools: [{kind: command, name: a, command: [x], maxBytes: 1.5}]\n",
     "bad_definition",
     "line 2, column 58: 'maxBytes' must be a whole number from 1 to "
     "4294967295"},
};

/* The place in the message is that of the offset. */
static void check_place(const char *text, const pdr_err *err)
{
    char place[64];
    size_t line = 0, column = 0;

    pdr_err_locate(&line, &column, pdr_str_c(text), err->offset);
    snprintf(place, sizeof(place), "line %zu, column %zu: ", line, column);
    if (strncmp(err->message, place, strlen(place)) != 0)
        fail_msg("%s: offset %d is %s", err->message, (int)err->offset, place);
}

TEST(definition, refuses_the_rest_with_line_and_column)
{
    COVERS("P-66");
    COVERS("P-68");
    COVERS("P-70");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const pdr_host_agent *agent = NULL;
        pdr_buf notices = PDR_BUF_INIT(SIZE_MAX);
        pdr_host *host = NULL;
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_OK, pdr_host_new(&host, &err));
        if (load(host, &agent, pdr_str_c(bad[i].text), &notices, &err) ==
            PDR_OK)
            fail_msg("loaded: %s", bad[i].text);
        ASSERT_STR(bad[i].reason, err.reason);
        if (bad[i].message != NULL)
            ASSERT_STR(bad[i].message, err.message);
        check_place(bad[i].text, &err);
        ASSERT(strstr(err.message, SECRET) == NULL);
        ASSERT(agent == NULL);
        ASSERT_SIZE(0, pdr_host_count(host));
        /* and without anybody to tell */
        ASSERT(load(host, &agent, pdr_str_c(bad[i].text), NULL, NULL) !=
               PDR_OK);
        pdr_buf_dispose(&notices);
        pdr_host_free(host);
    }
}

TEST(definition, needs_a_model_that_the_library_knows)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"\n" P, "line 2, column 1: no model: write model: {id: NAME, "
                 "provider: OpenAI}"},
        {P "model: {provider: OpenAI}\n",
         "line 2, column 8: no model: write model: {id: NAME, provider: "
         "OpenAI}"},
        {P "model: {id: m}\n",
         "line 2, column 8: no provider: write provider: OpenAI, for any "
         "server that speaks Chat Completions"},
        {P "model: {id: m, provider: Anthropic, apiType: Chat}\n",
         "line 2, column 26: the provider 'Anthropic' is not offered here; "
         "OpenAI, over Chat Completions, and script are"},
        {P "model: {id: m, provider: OpenAI, apiType: Batch}\n",
         "line 2, column 26: the provider 'OpenAI' is not offered here; "
         "OpenAI, over Chat Completions, and script are"},
    };
    pdr_host *host = NULL;

    ASSERT_RC(PDR_OK, pdr_host_new(&host, NULL));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const pdr_definition definition = {.text = pdr_str_c(cases[i].text)};
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_EINVALID,
                  pdr_host_load(NULL, host, &definition, &err, NULL, NULL));
        ASSERT_STR(cases[i].message, err.message);
    }
    pdr_host_free(host);
}

TEST(definition, names_what_is_wrong_in_its_script)
{
    const char *text =
        P "model: {provider: script, connection: {file: bad.json}}\n";
    pdr_host *host = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_host_new(&host, NULL));
    ASSERT_RC(PDR_EINVALID, load(host, NULL, pdr_str_c(text), NULL, &err));
    ASSERT_STR("bad_script", err.reason);
    ASSERT_STR("/replies/0", err.path);
    check_place(text, &err);
    ASSERT(strstr(err.message, "column 46: 'bad.json': ") != NULL);
    pdr_host_free(host);
}

/* --- hostile files -------------------------------------------------------- */

static void put_many(pdr_buf *out, const char *piece, size_t times)
{
    for (size_t i = 0; i < times; i++)
        ASSERT_RC(PDR_OK, pdr_buf_append(out, pdr_str_c(piece), NULL));
}

TEST(definition, refuses_what_is_too_large)
{
    static const struct {
        const char *head, *piece;
        size_t times;
        const char *reason;
    } cases[] = {
        {P "name: ", "a", 1 << 20, "too_large"},
        {P "tools: [", "x,", 60000, "too_large"},
        {P "size: ", "[", 70, "too_deep"},
        {P "size: ", "[", 500000, "too_deep"},
        {P "size: ", "{a: ", 100, "too_deep"},
        {P "size:\n", "- ", 500, "too_deep"},
        {P "size:\n", "? ", 500, "bad_yaml"},
        {P, "\xEF\xBB\xBF", 3, "bad_yaml"},
        {"", "a: b: ", 100000, "bad_yaml"},
        {"a: &a [x]\n", "b: [*a, *a]\n", 100, "bad_yaml"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
        pdr_host *host = NULL;
        pdr_err err = PDR_ERR_INIT;

        put_many(&text, cases[i].head, 1);
        put_many(&text, cases[i].piece, cases[i].times);
        ASSERT_RC(PDR_OK, pdr_host_new(&host, NULL));
        ASSERT(load(host, NULL, pdr_buf_str(&text), NULL, &err) != PDR_OK);
        if (strcmp(cases[i].reason, err.reason) != 0)
            fail_msg("case %zu: %s", i, err.message);
        pdr_host_free(host);
        pdr_buf_dispose(&text);
    }
}

TEST(definition, takes_many_members_without_growing_slow)
{
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX), notices = PDR_BUF_INIT(SIZE_MAX);
    const pdr_host_agent *agent = NULL;
    pdr_host *host = NULL;
    pdr_err err = PDR_ERR_INIT;

    put_many(&text, P, 1);
    for (int i = 0; i < 20000; i++)
        ASSERT_RC(PDR_OK, pdr_buf_printf(&text, NULL, "m%d: %d\n", i, i));
    ASSERT_RC(PDR_OK, pdr_host_new(&host, NULL));
    ASSERT_RC(PDR_OK, load(host, &agent, pdr_buf_str(&text), &notices, &err));
    ASSERT_SIZE(20001, pdr_value_count(agent->definition));
    pdr_host_free(host);
    pdr_buf_dispose(&notices);
    pdr_buf_dispose(&text);
}

TEST(definition, may_have_any_bytes_before_its_nul)
{
    const char text[] = P "name: a\0b\n";
    pdr_host *host = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_host_new(&host, NULL));
    ASSERT_RC(PDR_EINVALID,
              load(host, NULL, pdr_str_n(text, sizeof(text) - 1), NULL, &err));
    ASSERT_STR("bad_yaml", err.reason);
    ASSERT_INT(20, err.offset);
    pdr_host_free(host);
}

/* --- what is kept --------------------------------------------------------- */

#define WHOLE                                                               \
    P "name: clerk\n"                                                       \
      "description: Answers.\n"                                             \
      "instructions: |\n  Be brief.\n  Be kind.\n"                          \
      "model: {id: m, provider: OpenAI, connection: {kind: key, endpoint: " \
      "=Env.URL, apiKey: =Env.KEY}, options: {user: =Env.KEY}}\n"           \
      "metadata: {team: front, on: yes, \"off\": '1', n: 1.50, note: "      \
      "=Env.KEY, e: }\n"                                                    \
      "outputSchema: {properties: {n: {type: integer}}}\n"                  \
      "tools:\n"                                                            \
      "- kind: command\n  name: add\n  command: [cat, =Env.KEY]\n"          \
      "  environment: {PATH: /bin, TOKEN: =Env.KEY}\n  folder: ..\n"        \
      "  parameters: [{name: n, type: integer, required: true}]\n"          \
      "- kind: function\n  name: lookup\n"                                  \
      "size: [1, 0x10, 1e3, yes, ~, '']\n"

TEST(definition, is_kept_as_it_was_written)
{
    COVERS("P-68");
    COVERS("P-69");
    const pdr_host_agent *agent = NULL;
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX), notices = PDR_BUF_INIT(SIZE_MAX);
    pdr_value *metadata = NULL;
    pdr_host *host = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_host_new(&host, &err));
    ASSERT_RC(PDR_OK, load(host, &agent, pdr_str_c(WHOLE), &notices, &err));
    ASSERT_RC(PDR_OK,
              pdr_json_write(&text, pdr_value_get_c(agent->definition, "size"),
                             NULL, &err));
    ASSERT_TEXT("[1,\"0x10\",1e3,true,null,\"\"]", pdr_buf_str(&text));
    metadata = pdr_properties_to_value(agent->wrapper.properties);
    text.len = 0;
    ASSERT_RC(PDR_OK, pdr_json_write(&text, metadata, NULL, &err));
    ASSERT_TEXT("{\"team\":\"front\",\"on\":true,\"off\":\"1\",\"n\":1.50,"
                "\"note\":\"=Env.KEY\",\"e\":null}",
                pdr_buf_str(&text));
    pdr_value_free(metadata);
    /* no value of a variable, in what is kept and in what was said */
    ASSERT_RC(PDR_OK, pdr_json_write(&text, agent->definition, NULL, &err));
    ASSERT_RC(PDR_OK, pdr_buf_append(&text, pdr_buf_str(&notices), &err));
    ASSERT(memmem(text.ptr, text.len, SECRET, strlen(SECRET)) == NULL);
    ASSERT(memmem(text.ptr, text.len, "=Env.KEY", 8) != NULL);
    pdr_buf_dispose(&notices);
    pdr_buf_dispose(&text);
    pdr_host_free(host);
}

TEST(host, keeps_agents_by_name)
{
    pdr_client *client = new_client();
    pdr_definition definition = {.text = pdr_str_c(P "name: a\n"),
                                 .client = client};
    const pdr_host_agent *first = NULL;
    pdr_host *host = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_host_new(&host, NULL));
    ASSERT_RC(PDR_OK,
              pdr_host_load(&first, host, &definition, &err, NULL, NULL));
    ASSERT_RC(PDR_EEXISTS,
              pdr_host_load(NULL, host, &definition, &err, NULL, NULL));
    ASSERT_STR("agent_exists", err.reason);
    ASSERT_STR("there is an agent 'a' already", err.message);
    definition.name = pdr_str_c("b"); /* wins over the file */
    definition.id = pdr_str_c("b-1");
    ASSERT_RC(PDR_OK, pdr_host_load(NULL, host, &definition, &err, NULL, NULL));
    definition = (pdr_definition){.text = pdr_str_c(P), .client = client};
    for (int i = 0; i < 2; i++) /* those without a name do not clash */
        ASSERT_RC(PDR_OK,
                  pdr_host_load(NULL, host, &definition, &err, NULL, NULL));
    ASSERT_SIZE(4, pdr_host_count(host));
    ASSERT(pdr_host_find(host, pdr_str_c("a")) == first);
    ASSERT(pdr_host_find(host, pdr_str_c("b")) == pdr_host_at(host, 1));
    ASSERT_TEXT("b-1", pdr_agent_id(pdr_host_at(host, 1)->agent));
    ASSERT_SIZE(32, pdr_agent_id(first->agent).len); /* made up */
    ASSERT(first->wrapper.properties == NULL);
    ASSERT(pdr_host_find(host, pdr_str_c("c")) == NULL);
    ASSERT(pdr_host_find(host, pdr_str_c("")) == NULL);
    ASSERT(pdr_host_at(host, 4) == NULL);
    pdr_host_free(host);
    pdr_host_free(NULL);
    pdr_client_free(client);
}

/* A pdr_notice_fn that loads others. */
static pdr_rc load_others(const pdr_notice *notice, pdr_err *err, void *arg)
{
    pdr_client *client = new_client();
    const pdr_definition definition = {.text = pdr_str_c(P), .client = client};
    pdr_rc rc = PDR_OK;

    (void)notice;
    for (int i = 0; rc == PDR_OK && i < 8; i++) /* a list has room for 8 */
        rc = pdr_host_load(NULL, arg, &definition, err, NULL, NULL);
    pdr_client_free(client);
    return rc;
}

TEST(host, may_load_others_while_it_loads_one)
{
    pdr_client *client = new_client();
    const pdr_definition definition = {
        .text = pdr_str_c(P "name: last\nsize: 1\n"), .client = client};
    pdr_host *host = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_host_new(&host, &err));
    ASSERT_RC(PDR_OK,
              pdr_host_load(NULL, host, &definition, &err, load_others, host));
    ASSERT_SIZE(9, pdr_host_count(host));
    ASSERT(pdr_host_find(host, pdr_str_c("last")) == pdr_host_at(host, 8));
    pdr_host_free(host);
    pdr_client_free(client);
}

TEST(host, refuses_a_name_that_is_too_long)
{
    char name[200];
    const pdr_definition definition = {.text = pdr_str_c(P),
                                       .name = {name, sizeof(name)}};
    pdr_host *host = NULL;

    memset(name, 'a', sizeof(name));
    ASSERT_RC(PDR_OK, pdr_host_new(&host, NULL));
    ASSERT_RC(PDR_EINVALID,
              pdr_host_load(NULL, host, &definition, NULL, NULL, NULL));
    pdr_host_free(host);
}

/* A pdr_notice_fn that has heard enough after `*arg` notices. */
static pdr_rc stop(const pdr_notice *notice, pdr_err *err, void *arg)
{
    int *left = arg;

    (void)notice;
    return --*left >= 0 ? PDR_OK : pdr_err_set(err, PDR_EDENIED, "no", "no");
}

TEST(definition, ends_where_the_caller_stops_it)
{
    static const char text[] =
        P "size: 1\nmodel: {id: 5, kind: x, provider: openai, connection: "
          "{name: x}, options: {topK: 1}}\noutputSchema: {minimum: 1}\n"
          "tools:\n- {kind: mcp}\n- {kind: function, name: lookup, strict: "
          "1, parameters: {maximum: 1}}\n- {kind: command, name: 7, command: "
          "[cat, 5], environment: {A: 1}}\n";
    static const char script[] =
        P "model: {provider: script, connection: {file: r.json}}\n";
    const pdr_tool tools[] = {{.name = "lookup", .fn = tool_nothing}};
    int most = 0;

    for (int part = 0; part < 2; part++) {
        const pdr_definition definition = {
            .text = pdr_str_c(part == 0 ? text : script),
            .folder = data_folder(),
            .tools = tools,
            .tool_count = 1,
        };
        for (int stops = 0;; stops++) {
            int left = stops;
            pdr_host *host = NULL;
            pdr_rc rc = PDR_OK;

            ASSERT_RC(PDR_OK, pdr_host_new(&host, NULL));
            rc = pdr_host_load(NULL, host, &definition, NULL, stop, &left);
            ASSERT(rc == PDR_OK || rc == PDR_EDENIED);
            pdr_host_free(host);
            most += rc != PDR_OK;
            if (rc == PDR_OK)
                break;
        }
    }
    ASSERT_INT(16, most);
}

TEST_OOM(definition, cleans_up_after_any_failed_allocation)
{
    const pdr_tool tools[] = {{.name = "lookup", .fn = tool_nothing}};
    static const char *const texts[] = {
        WHOLE, P "model: {provider: script, connection: {file: r.json}}\n",
        P "model: {id: m, provider: OpenAI, connection: {keyFile: key.txt}}\n"};
    pdr_host *host = NULL;
    pdr_rc rc = pdr_host_new(&host, NULL);

    for (size_t i = 0; rc == PDR_OK && i < 3; i++) {
        const pdr_host_agent *agent = NULL;
        const pdr_definition definition = {.text = pdr_str_c(texts[i]),
                                           .folder = data_folder(),
                                           .tools = tools,
                                           .tool_count = 1,
                                           .env = test_env};
        pdr_buf notices = PDR_BUF_INIT(SIZE_MAX);

        rc = pdr_host_load(&agent, host, &definition, NULL, note, &notices);
        ASSERT((agent != NULL) == (rc == PDR_OK));
        pdr_buf_dispose(&notices);
    }
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    pdr_host_free(host);
}
