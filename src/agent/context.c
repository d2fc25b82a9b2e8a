/*
 * context.c - what providers add to a run: messages, instructions, tools.
 *
 * WHY  A provider is asked before the model is, and knows nothing of the run
 *      but what it is told. It adds through a handle that lives as long as the
 *      run; the caller's own messages, the agent and the session stay as they
 *      are.
 *
 *      before p1 ─► before p2 ─► ... ─► what is sent
 *                   └─ sees the instructions and tools that p1 added
 */
#include "agent.h"

pdr_rc pdr__context_init(struct pdr_context *context, const pdr_agent *agent,
                         pdr_shape shape, pdr_err *err)
{
    const pdr_buf none = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);

    *context = (struct pdr_context){
        .agent = agent, .shape = shape, .instructions = none};
    return pdr_buf_append(&context->instructions, agent->instructions, err);
}

void pdr__context_dispose(struct pdr_context *context)
{
    for (size_t i = 0; i < context->count; i++)
        pdr_value_free((pdr_value *)(uintptr_t)context->messages[i].value);
    for (size_t i = 0; i < context->tool_count; i++)
        pdr__tool_dispose(&context->tools[i]);
    for (size_t i = 0; i < context->kept_count; i++)
        context->kept[i].release(context->kept[i].thing);
    pdr__free(context->kept);
    pdr__free(context->messages);
    pdr__free(context->tools);
    pdr_buf_dispose(&context->instructions);
}

pdr_rc pdr__context_ask(struct pdr_context *context,
                        const pdr_provider *provider, const pdr_run_info *info,
                        pdr_err *err)
{
    if (provider->before == NULL)
        return PDR_OK;
    context->from = provider->name;
    context->origin = provider->kind == PDR_PROVIDER_HISTORY
                          ? PDR_ORIGIN_HISTORY
                          : PDR_ORIGIN_CONTEXT;
    return provider->before(context, info, err, provider->self);
}

pdr_rc pdr_context_add_message(pdr_context *context, const pdr_value *message,
                               pdr_shape shape, pdr_err *err)
{
    const bool is_history = context->origin == PDR_ORIGIN_HISTORY;
    const pdr_attribution_parts mark = {
        .source_type =
            is_history ? PDR_LIT("ChatHistory") : PDR_LIT("AIContextProvider"),
        .source_id = pdr_str_c(context->from)};
    pdr_value *own = NULL, *marked = NULL;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(context != NULL && message != NULL);
    if (pdr_value_kind(message) != PDR_OBJECT)
        return PDR_FAIL(err, WRONG_KIND,
                        "a message is an object, '%s' added %s", context->from,
                        pdr__kind_phrase(message));
    PDR_TRY(pdr__grow((void **)&context->messages, &context->cap,
                      context->count + 1, sizeof(*context->messages), err));
    if (shape == context->shape)
        own = pdr_value_ref(message);
    else
        PDR_TRY(pdr_message_convert(&own, message, shape, context->shape, err));
    PDR_TRY(pdr_message_attribute(&marked, own, context->shape, &mark, err));
    context->messages[context->count++] =
        (pdr_request_message){marked, context->shape, context->origin};
done:
    pdr_value_free(own);
    return rc;
}

pdr_rc pdr_context_keep(pdr_context *context, void *thing,
                        void (*release)(void *thing), pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(context != NULL && release != NULL);
    rc = pdr__grow((void **)&context->kept, &context->kept_cap,
                   context->kept_count + 1, sizeof(*context->kept), err);
    if (rc != PDR_OK) {
        release(thing);
        return rc;
    }
    context->kept[context->kept_count++] = (struct pdr__kept){thing, release};
    return PDR_OK;
}

pdr_rc pdr__context_history(struct pdr__history *history,
                            const struct pdr_context *context, pdr_err *err)
{
    bool is_sure = true, any = false;
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < context->count; i++) {
        if (context->messages[i].origin != PDR_ORIGIN_HISTORY)
            continue;
        PDR_TRY(pdr__history_add(history, context->messages[i].value,
                                 context->shape, err));
        any = true;
    }
    if (any)
        PDR_TRY(
            pdr__history_choose(&is_sure, history, true, context->agent, err));
done:
    return rc;
}

pdr_rc pdr_context_add_instructions(pdr_context *context, pdr_str text,
                                    pdr_err *err)
{
    pdr_buf *all = NULL;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(context != NULL);
    all = &context->instructions;
    if (text.len == 0)
        return PDR_OK;
    PDR_TRY(pdr_buf_reserve(all, text.len + 1, err));
    if (all->len > 0)
        PDR_TRY(pdr_buf_append(all, PDR_LIT("\n"), err));
    PDR_TRY(pdr_buf_append(all, text, err));
done:
    return rc;
}

pdr_str pdr_context_instructions(const pdr_context *context)
{
    return pdr_buf_str(&context->instructions);
}

pdr_rc pdr_context_add_tool(pdr_context *context, const pdr_tool *tool,
                            pdr_err *err)
{
    struct pdr__tool made;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(context != NULL && tool != NULL);
    PDR_TRY(pdr__grow((void **)&context->tools, &context->tool_cap,
                      context->tool_count + 1, sizeof(*context->tools), err));
    PDR_TRY(pdr__tool_init(&made, tool, err));
    if (pdr__context_tool(context, pdr_str_c(made.name)) != NULL) {
        rc = PDR_FAIL(err, TOOL_CLASH,
                      "'%s' adds a tool called '%s', and there is one",
                      context->from, made.name);
        pdr__tool_dispose(&made);
        goto done;
    }
    context->tools[context->tool_count++] = made;
done:
    return rc;
}

struct pdr__tool *pdr__context_tool(const struct pdr_context *context,
                                    pdr_str name)
{
    for (size_t i = 0; i < context->tool_count; i++) {
        if (pdr_str_equal(pdr_str_c(context->tools[i].name), name))
            return &context->tools[i];
    }
    return pdr__agent_tool(context->agent, name);
}

bool pdr_context_has_tool(const pdr_context *context, pdr_str name)
{
    return pdr__context_tool(context, name) != NULL;
}

pdr_rc pdr__context_infos(const pdr_tool_info **out, size_t *count,
                          const struct pdr_context *context,
                          struct pdr__arena *memory, pdr_err *err)
{
    const pdr_agent *agent = context->agent;
    pdr_tool_info *all = NULL;
    void *room = NULL;
    pdr_rc rc = PDR_OK;

    *out = agent->infos;
    *count = agent->tool_count + context->tool_count;
    if (context->tool_count == 0)
        return PDR_OK;
    PDR_TRY(pdr__arena_alloc(&room, memory, *count * sizeof(*all), err));
    all = room;
    for (size_t i = 0; i < agent->tool_count; i++)
        all[i] = agent->infos[i];
    for (size_t i = 0; i < context->tool_count; i++)
        all[agent->tool_count + i] = pdr__tool_info(&context->tools[i]);
    *out = all;
done:
    return rc;
}
