/*
 * Agents from definition files, at work: what their model gets, and what their
 * tools do.
 */
#include <perdure/sys/client.h>

#include "host_test.h"

/* --- a model that writes down what it got --------------------------------- */

struct recorder {
    pdr_client base;
    pdr_buf got; /* instructions, options and tools as lines of JSON */
    size_t calls;
};

static void put_json(pdr_buf *out, const char *what, const pdr_value *value)
{
    ASSERT_RC(PDR_OK, pdr_buf_printf(out, NULL, "%s ", what));
    if (value != NULL)
        ASSERT_RC(PDR_OK, pdr_json_write(out, value, NULL, NULL));
    ASSERT_RC(PDR_OK, pdr_buf_append(out, pdr_str_c("\n"), NULL));
}

static pdr_rc recorder_send(pdr_client *client,
                            const pdr_client_request *request, pdr_err *err,
                            pdr_update_fn fn, void *arg)
{
    struct recorder *r = (struct recorder *)(void *)client;
    const pdr_update update = {.role = pdr_str_c("assistant"),
                               .finish_reason = pdr_str_c("stop")};

    r->calls++;
    ASSERT_RC(PDR_OK, pdr_buf_printf(&r->got, NULL, "instructions %.*s\n",
                                     (int)request->instructions.len,
                                     request->instructions.ptr));
    put_json(&r->got, "options", request->options);
    for (size_t i = 0; i < request->tool_count; i++) {
        ASSERT_RC(PDR_OK, pdr_buf_printf(&r->got, NULL, "tool %.*s (%.*s) ",
                                         (int)request->tools[i].name.len,
                                         request->tools[i].name.ptr,
                                         (int)request->tools[i].description.len,
                                         request->tools[i].description.ptr));
        put_json(&r->got, "takes", request->tools[i].parameters);
    }
    return fn(&update, err, arg);
}

static void recorder_free(pdr_client *client)
{
    (void)client;
}

static const pdr_client_ops recorder_ops = {.version = PDR_CLIENT_OPS_VERSION,
                                            .name = "recorder",
                                            .send = recorder_send,
                                            .free = recorder_free};

/* What the model of this file gets when it is asked. */
static void ask(struct recorder *r, const char *text)
{
    pdr_value *schema = NULL;
    const pdr_run run = {.text = pdr_str_c("hi")};
    pdr_response *response = NULL;
    const pdr_host_agent *agent = NULL;
    pdr_host *host = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK,
              pdr_json_read(&schema, pdr_str_c("{\"minimum\":1}"), NULL, NULL));
    const pdr_tool tools[] = {{.name = "lookup",
                               .description = "Looks up.",
                               .parameters = schema,
                               .fn = tool_nothing},
                              {.name = "plain", .fn = tool_nothing}};
    memset(r, 0, sizeof(*r));
    r->got = (pdr_buf)PDR_BUF_INIT(SIZE_MAX);
    ASSERT_RC(PDR_OK, pdr_client_init(&r->base, &recorder_ops, &err));
    const pdr_definition definition = {.text = pdr_str_c(text),
                                       .tools = tools,
                                       .tool_count = 2,
                                       .client = &r->base,
                                       .env = test_env};
    ASSERT_RC(PDR_OK, pdr_host_new(&host, &err));
    if (pdr_host_load(&agent, host, &definition, &err, NULL, NULL) != PDR_OK)
        fail_msg("%s", err.message);
    ASSERT_RC(PDR_OK, pdr_agent_run(&response, agent->agent, &run, &err));
    pdr_response_free(response);
    pdr_host_free(host);
    pdr_value_free(schema);
}

TEST(definition, gives_its_model_options_and_instructions)
{
    struct recorder r;

    ask(&r, "kind: Prompt\n"
            "instructions: |\n  Be brief.\n  Mind the key.\n"
            "model:\n"
            "  options:\n"
            "    temperature: 0.70\n"
            "    topP: 1\n"
            "    maxOutputTokens: 50\n"
            "    seed: 7\n"
            "    frequencyPenalty: 0.1\n"
            "    presencePenalty: 0.2\n"
            "    stopSequences: [END, '5']\n"
            "    allowMultipleToolCalls: no\n"
            "    chatToolMode: required\n"
            "    topK: 5\n"
            "    apiType: Chat\n"
            "    user: =Env.KEY\n"
            "    more: {deep: [on, 010, ~, 1.0]}\n");
    ASSERT_TEXT("instructions Be brief.\nMind the key.\n\n"
                "options {\"temperature\":0.70,\"top_p\":1,\"max_tokens\":50,"
                "\"seed\":7,\"frequency_penalty\":0.1,\"presence_penalty\":0.2,"
                "\"stop\":[\"END\",\"5\"],\"parallel_tool_calls\":false,"
                "\"tool_choice\":\"required\",\"user\":\"" SECRET "\","
                "\"more\":{\"deep\":[true,\"010\",null,1.0]}}\n",
                pdr_buf_str(&r.got));
    pdr_buf_dispose(&r.got);
}

TEST(definition, may_write_a_schema_in_any_form)
{
    COVERS("P-67");
    static const char *const forms[] = {
        "\n  - {name: city, type: string, description: Where., required: true}"
        "\n  - {name: days, kind: integer, default: 1}\n",
        "\n    properties:"
        "\n    - {name: city, type: string, description: Where., required: yes}"
        "\n    - {name: days, type: integer, default: 1, required: false}\n",
        "\n    strict: true\n    properties:"
        "\n      city: {kind: string, description: Where., required: true}"
        "\n      days: {type: integer, default: 1}\n",
        "\n    type: object\n    properties:"
        "\n      city: {type: string, description: Where.}"
        "\n      days: {type: integer, default: 1}\n    required: [city]\n",
        " {\"type\": \"object\", \"properties\": {\"city\": {\"type\": "
        "\"string\", \"description\": \"Where.\"}, \"days\": {\"type\": "
        "\"integer\", \"default\": 1}}, \"required\": [\"city\"]}\n",
    };

    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        char text[1024];
        struct recorder r;

        snprintf(text, sizeof(text),
                 "kind: Prompt\ntools:\n- kind: function\n  name: plain\n"
                 "  parameters:%s",
                 forms[i]);
        ask(&r, text);
        ASSERT_TEXT("instructions \noptions \ntool plain () takes "
                    "{\"type\":\"object\",\"properties\":{\"city\":{\"type\":"
                    "\"string\",\"description\":\"Where.\"},\"days\":{\"type\":"
                    "\"integer\",\"default\":1}},\"required\":[\"city\"]}\n",
                    pdr_buf_str(&r.got));
        pdr_buf_dispose(&r.got);
    }
}

TEST(definition, turns_schemas_inside_schemas_too)
{
    struct recorder r;

    ask(&r, "kind: Prompt\ntools:\n- kind: function\n  name: plain\n"
            "  parameters:\n"
            "  - name: trips\n    kind: array\n    example: [x]\n"
            "    items:\n      properties:\n"
            "      - {name: to, type: string, required: true, enum: [a, 5]}\n"
            "      - {name: any, required: true}\n"
            "      required: true\n"
            "  - name: free\n    properties: {a: true, b: {}}\n");
    ASSERT_TEXT(
        "instructions \noptions \ntool plain () takes "
        "{\"type\":\"object\",\"properties\":{\"trips\":{\"type\":\"array\","
        "\"examples\":[[\"x\"]],\"items\":{\"type\":\"object\",\"properties\":"
        "{\"to\":{\"type\":\"string\",\"enum\":[\"a\",5]},\"any\":{}},"
        "\"required\":[\"to\",\"any\"]}},\"free\":{\"type\":\"object\","
        "\"properties\":{\"a\":true,\"b\":{}}}}}\n",
        pdr_buf_str(&r.got));
    pdr_buf_dispose(&r.got);
}

TEST(definition, binds_functions_by_name)
{
    struct recorder r;

    ask(&r, "kind: Prompt\ntools:\n"
            "- {kind: function, name: lookup}\n"
            "- {kind: function, name: other, description: Mine., bindings: "
            "[{name: none}, x, {name: lookup}], approvalMode: always}\n"
            "- {kind: function, name: third, parameters: {}, bindings: {no: "
            "{}, plain: {}}, approvalMode: {kind: always}}\n");
    ASSERT_TEXT("instructions \noptions \n"
                "tool lookup (Looks up.) takes {\"minimum\":1}\n"
                "tool other (Mine.) takes {\"minimum\":1}\n"
                "tool third () takes {}\n",
                pdr_buf_str(&r.got));
    pdr_buf_dispose(&r.got);
}

/* --- command tools -------------------------------------------------------- */

/* What a scripted model says after it called the tool of this text. */
static void call_tool(pdr_buf *out, const char *tool, const char *folder,
                      pdr_tool_fn command)
{
    static const char replies[] =
        "{\"replies\":[{\"after\":\"t\",\"text\":\"{result}\"},"
        "{\"calls\":[{\"name\":\"t\",\"arguments\":{\"n\":17}}]}]}";
    const pdr_run run = {.text = pdr_str_c("hi")};
    pdr_response *response = NULL;
    const pdr_host_agent *agent = NULL;
    pdr_client *client = NULL;
    pdr_host *host = NULL;
    char text[512], copy[512] = "";
    pdr_err err = PDR_ERR_INIT;

    snprintf(text, sizeof(text),
             "kind: Prompt\ntools:\n- kind: command\n  name: t\n%s", tool);
    snprintf(copy, sizeof(copy), "%s", folder);
    ASSERT_RC(PDR_OK, pdr_client_script(&client, pdr_str_c(replies), &err));
    ASSERT_RC(PDR_OK, pdr_host_new(&host, &err));
    const pdr_definition definition = {.text = pdr_str_c(text),
                                       .folder = copy,
                                       .command = command,
                                       .client = client,
                                       .env = test_env};
    if (pdr_host_load(&agent, host, &definition, &err, NULL, NULL) != PDR_OK)
        fail_msg("%s", err.message);
    memset(text, '?', sizeof(text)); /* borrowed for the load only */
    memset(copy, '?', sizeof(copy));
    ASSERT_RC(PDR_OK, pdr_agent_run(&response, agent->agent, &run, &err));
    ASSERT_RC(PDR_OK, pdr_response_text(out, response, &err));
    pdr_response_free(response);
    pdr_host_free(host);
    pdr_client_free(client);
}

/* A pdr_tool_fn that runs no program. */
static pdr_rc show_command(pdr_value **out, const pdr_tool_call *call,
                           pdr_err *err, void *arg)
{
    const pdr_command *command = arg;

    (void)call;
    return pdr_value_new_string(out, pdr_str_c(command->argv[1]), err);
}

TEST(definition, leaves_commands_to_a_function_of_the_program)
{
    pdr_buf answer = PDR_BUF_INIT(SIZE_MAX);

    call_tool(&answer, "  command: [cat, hidden]\n", "/usr", show_command);
    ASSERT_TEXT("hidden", pdr_buf_str(&answer));
    pdr_buf_dispose(&answer);
}

TEST(definition, runs_its_command_tools)
{
    static const struct {
        const char *tool, *answer;
    } cases[] = {
        {"  command: [cat]\n", "{\"n\":17}"},
        {"  command: [sh, -c, pwd]\n", "/usr"},
        {"  command: [sh, -c, pwd]\n  folder: lib\n", "/usr/lib"},
        {"  command: [sh, -c, pwd]\n  folder: /\n", "/"},
        {"  command: [printf, '%s|%s|%s', 'a b', $HOME, =Env.KEY]\n",
         "a b|$HOME|" SECRET},
        {"  command: [env]\n  environment: {A: 1, B: 'x y', C: =Env.KEY}\n",
         "A=1\nB=x y\nC=" SECRET},
        {"  command: [env]\n  environment: {}\n",
         "Success: Function completed."},
        {"  command: [sleep, 1000]\n  timeout: 1\n", "Error: Function failed."},
        {"  command: [printf, abcdef]\n  maxBytes: 5\n",
         "Error: Function failed."},
        {"  command: [printf, abcde]\n  maxBytes: 5\n", "abcde"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        pdr_buf answer = PDR_BUF_INIT(SIZE_MAX);

        call_tool(&answer, cases[i].tool, "/usr", NULL);
        ASSERT_TEXT(cases[i].answer, pdr_buf_str(&answer));
        pdr_buf_dispose(&answer);
    }
}
