/*
 * perdure/content.h - messages and their contents, in every shape.
 *
 * A message is what one speaker said, a content one piece of it: a text, a tool
 * call, a picture. Four shapes are in use: that of durable state documents,
 * that of the .NET edition, that of the Python edition and that of saved chats
 * of Semantic Kernel for .NET. One table of the library knows all kinds of
 * contents and how each shape spells them; sessions, agents and chats use it
 * too.
 *
 * Messages and contents are values. Nothing here copies one into a struct:
 * reading looks a member up, and a part that nobody knows stays where it is.
 * Reading functions take NULL for "not there" and give NULL or false back, also
 * if a member has another JSON kind than the table says: what is surprising is
 * absent for a typed reader, and still there in the value.
 */
#ifndef PERDURE_CONTENT_H
#define PERDURE_CONTENT_H

#include <perdure/datetime.h>
#include <perdure/value.h>

PDR_BEGIN_DECLS

/* Who spells it. */
typedef enum pdr_shape {
    PDR_SHAPE_STATE = 0,  /* durable state documents: "$type", camelCase */
    PDR_SHAPE_DOTNET = 1, /* .NET sessions: "$type", camelCase, more kinds */
    PDR_SHAPE_PYTHON = 2, /* Python sessions: "type", snake_case */
    PDR_SHAPE_SK = 3      /* Semantic Kernel: "$type", PascalCase */
} pdr_shape;

/* --- kinds --------------------------------------------------------------- */

/* One row per kind of content: name, and its discriminator in each shape; ""
 * where a shape has no such kind. Later kinds go to the end. What Semantic
 * Kernel calls an image, audio or binary content is data in the other shapes if
 * it has bytes, else a uri. */
#define PDR_CONTENT_MAP(X)                                                     \
    X(TEXT, "text", "text", "text", "TextContent")                             \
    X(REASONING, "reasoning", "reasoning", "text_reasoning",                   \
      "ReasoningContent")                                                      \
    X(DATA, "data", "data", "data", "")                                        \
    X(URI, "uri", "uri", "uri", "")                                            \
    X(ERROR, "error", "error", "error", "")                                    \
    X(CALL, "functionCall", "functionCall", "function_call",                   \
      "FunctionCallContent")                                                   \
    X(RESULT, "functionResult", "functionResult", "function_result",           \
      "FunctionResultContent")                                                 \
    X(FILE, "hostedFile", "hostedFile", "hosted_file", "FileReferenceContent") \
    X(VECTOR_STORE, "hostedVectorStore", "hostedVectorStore",                  \
      "hosted_vector_store", "")                                               \
    X(USAGE, "usage", "usage", "usage", "")                                    \
    X(UNKNOWN, "unknown", "", "", "")                                          \
    X(APPROVAL_REQUEST, "", "toolApprovalRequest",                             \
      "function_approval_request", "")                                         \
    X(APPROVAL_RESPONSE, "", "toolApprovalResponse",                           \
      "function_approval_response", "")                                        \
    X(MCP_CALL, "", "mcpServerToolCall", "mcp_server_tool_call", "")           \
    X(MCP_RESULT, "", "mcpServerToolResult", "mcp_server_tool_result", "")     \
    X(CODE_CALL, "", "codeInterpreterToolCall", "code_interpreter_tool_call",  \
      "")                                                                      \
    X(CODE_RESULT, "", "codeInterpreterToolResult",                            \
      "code_interpreter_tool_result", "")                                      \
    X(IMAGE_CALL, "", "imageGenerationToolCall", "image_generation_tool_call", \
      "")                                                                      \
    X(IMAGE_RESULT, "", "imageGenerationToolResult",                           \
      "image_generation_tool_result", "")                                      \
    X(SEARCH_CALL, "", "webSearchToolCall", "search_tool_call", "")            \
    X(SEARCH_RESULT, "", "webSearchToolResult", "search_tool_result", "")      \
    X(TOOL_CALL, "", "toolCall", "", "")                                       \
    X(TOOL_RESULT, "", "toolResult", "", "")                                   \
    X(INPUT_REQUEST, "", "inputRequest", "", "")                               \
    X(INPUT_RESPONSE, "", "inputResponse", "", "")                             \
    X(SHELL_CALL, "", "", "shell_tool_call", "")                               \
    X(SHELL_RESULT, "", "", "shell_tool_result", "")                           \
    X(SHELL_OUTPUT, "", "", "shell_command_output", "")                        \
    X(CONSENT_REQUEST, "", "", "oauth_consent_request", "")                    \
    X(COMPUTER_CALL, "", "", "computer_tool_call", "")                         \
    X(COMPUTER_RESULT, "", "", "computer_tool_result", "")                     \
    X(OLD_APPROVAL_REQUEST, "", "functionApprovalRequest", "", "")             \
    X(OLD_APPROVAL_RESPONSE, "", "functionApprovalResponse", "", "")           \
    X(OLD_MCP_APPROVAL_REQUEST, "", "mcpServerToolApprovalRequest", "", "")    \
    X(OLD_MCP_APPROVAL_RESPONSE, "", "mcpServerToolApprovalResponse", "", "")  \
    X(IMAGE, "", "", "", "ImageContent")                                       \
    X(AUDIO, "", "", "", "AudioContent")                                       \
    X(BINARY, "", "", "", "BinaryContent")                                     \
    X(ANNOTATION, "", "", "", "AnnotationContent")                             \
    X(ACTION, "", "", "", "ActionContent")                                     \
    X(MESSAGE, "", "", "", "ChatMessageContent")

typedef enum pdr_content_kind {
    PDR_CONTENT_OTHER = 0, /* none of the table: no object, no discriminator,
                              or one that nobody knows */
#define PDR_CONTENT_ENUM(name, state, dotnet, python, sk) PDR_CONTENT_##name,
    PDR_CONTENT_MAP(PDR_CONTENT_ENUM)
#undef PDR_CONTENT_ENUM
} pdr_content_kind;

/** What `content` is in this shape. NULL is PDR_CONTENT_OTHER.
 * @thread const @since 0.1 */
PDR_API pdr_content_kind pdr_content_kind_of(const pdr_value *content,
                                             pdr_shape shape);

/** How `shape` calls a kind; "" if it has no such kind. Static.
 * @thread any @since 0.1 */
PDR_API const char *pdr_content_kind_name(pdr_content_kind kind,
                                          pdr_shape shape);

/* --- contents ------------------------------------------------------------ */

/* What a content can hold. The table says which kinds have which, and how each
 * shape calls them. Later fields go to the end. */
typedef enum pdr_field {
    PDR_FIELD_TEXT = 1,   /* text, reasoning, action */
    PDR_FIELD_PROTECTED,  /* reasoning: what the provider encrypted */
    PDR_FIELD_URI,        /* data, uri; image, audio, binary: no data URI */
    PDR_FIELD_MEDIA_TYPE, /* data, uri, file; image, audio, binary */
    PDR_FIELD_NAME,       /* call: of the tool, in Semantic Kernel of a result
                             too; data, file: of the file */
    PDR_FIELD_MESSAGE,    /* error */
    PDR_FIELD_ERROR_CODE, /* error */
    PDR_FIELD_DETAILS,    /* error */
    PDR_FIELD_CALL_ID,    /* calls and results */
    PDR_FIELD_ARGUMENTS,  /* call: an object; Python: or text */
    PDR_FIELD_RESULT,     /* result: any JSON */
    PDR_FIELD_FILE_ID,    /* file */
    PDR_FIELD_VECTOR_STORE_ID, /* vector store */
    PDR_FIELD_USAGE,           /* usage: an object of counts */
    PDR_FIELD_CONTENT,         /* unknown: the foreign item, verbatim */
    PDR_FIELD_REQUEST_ID,      /* approval: its id */
    PDR_FIELD_TOOL_CALL,       /* approval: the call, a content */
    PDR_FIELD_APPROVED,        /* approval response: boolean */
    PDR_FIELD_REASON,          /* approval response */
    PDR_FIELD_SERVER_NAME,     /* MCP call */
    PDR_FIELD_INPUTS,          /* code call: a list of contents */
    PDR_FIELD_OUTPUTS,         /* results: a list of contents */
    PDR_FIELD_QUERIES,         /* search call: a list of texts */
    PDR_FIELD_ANNOTATIONS,     /* every kind */
    PDR_FIELD_PROPERTIES,      /* every kind: additional properties; Semantic
                                  Kernel: metadata */
    PDR_FIELD_PLUGIN,          /* call, result: plugin of the tool */
    PDR_FIELD_DATA             /* image, audio, binary: base64 */
} pdr_field;

/** One field of a content. @return borrowed from `content`; NULL if the kind
 * has no such field in this shape, it is absent, null, or has another JSON kind
 * than it should. @thread const @since 0.1 */
PDR_API const pdr_value *pdr_content_get(const pdr_value *content,
                                         pdr_shape shape, pdr_field field);

/** Media type of a data, uri, file, image, audio or binary content: its own
 * member, else, for a data URI, what stands in the URI; empty if nobody says.
 * @param[out] out  borrowed from `content` or from `scratch`.
 * @param scratch   not NULL; its old content is lost.
 * @return PDR_OK; PDR_EINVALID (reason "lone_surrogate"); what
 *         pdr_buf_reserve() gives. @thread const @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_content_media_type(pdr_str *out,
                                                     const pdr_value *content,
                                                     pdr_shape shape,
                                                     pdr_buf *scratch,
                                                     pdr_err *err);

/** Append the arguments of a call as the text that a model gets: the text that
 * it once gave if that was kept, else compact JSON; "{}" if there are none.
 * @return PDR_OK; PDR_EINVALID (reason "wrong_kind") if it is no call or
 *         (reason "lone_surrogate", "bare_token") if there is no such text;
 *         what pdr_buf_reserve() gives. @thread const @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_content_arguments(pdr_buf *out,
                                                    const pdr_value *content,
                                                    pdr_shape shape,
                                                    pdr_err *err);

/* One field of a content that is to be made. */
typedef struct pdr_content_part {
    pdr_field field;
    const pdr_value *value; /* borrowed for the call */
} pdr_content_part;

/**
 * Make a content. Members stand in the order in which the shape's own edition
 * writes them, the discriminator first; what that edition always writes is
 * there.
 *
 * @param[out] out  owned; NULL on failure.
 * @param parts     borrowed for the call; each field once.
 * @return PDR_OK; PDR_EINVALID with reason "no_such_kind" if the shape has no
 *         such kind, "no_such_field" for a field that the kind does not have,
 *         "wrong_kind" for a value of another JSON kind or a text that is no
 *         URI or media type as .NET and Python take it, "lone_surrogate",
 *         "field_missing"; PDR_ENOMEM; PDR_ELIMIT. What stands inside
 *         arguments, results, properties and foreign items is not looked at.
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_content_new(pdr_value **out, pdr_shape shape,
                                              pdr_content_kind kind,
                                              const pdr_content_part *parts,
                                              size_t count, pdr_err *err);

/** A text. Fails as pdr_content_new(), or with reason "bad_utf8".
 * @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_content_new_text(pdr_value **out,
                                                   pdr_shape shape,
                                                   pdr_str text, pdr_err *err);

/** A tool call as a model gave it. `arguments` is its text: a JSON object
 * becomes the arguments; of anything else, they are an empty object and the
 * text is kept beside them (a state document: "argumentsText"), so that
 * pdr_content_arguments() gives it back. In Semantic Kernel the name is the
 * function's and there is no plugin: models get "plugin-function", and only the
 * caller knows whether a hyphen in it is that one. With a plugin, make the call
 * with pdr_content_new(). Fails as pdr_content_new_text().
 * @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc
pdr_content_new_call(pdr_value **out, pdr_shape shape, pdr_str call_id,
                     pdr_str name, pdr_str arguments, pdr_err *err);

/** What a tool gave: any JSON. NULL or null: nothing, the member is left out.
 * Fails as pdr_content_new_text(). @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_content_new_result(pdr_value **out,
                                                     pdr_shape shape,
                                                     pdr_str call_id,
                                                     const pdr_value *result,
                                                     pdr_err *err);

/** A failure. Empty texts are left out. `details` may be NULL; a string is the
 * details, any other JSON stands beside them (a state document:
 * "detailsJson"). Fails as pdr_content_new_text(). @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc
pdr_content_new_error(pdr_value **out, pdr_shape shape, pdr_str message,
                      pdr_str code, const pdr_value *details, pdr_err *err);

/* --- messages ------------------------------------------------------------ */

/** The parts of a message, each borrowed from it, or NULL: role, author, id
 * (strings), contents (an array), additional properties (an object). Semantic
 * Kernel and older Python documents have the role in an object; its text is
 * given. Semantic Kernel has no id; "role", "name" and "items" are read there
 * too if "Role", "AuthorName" and "Items" are absent.
 * @thread const @since 0.1 */
PDR_API const pdr_value *pdr_message_role(const pdr_value *message,
                                          pdr_shape shape);
PDR_API const pdr_value *pdr_message_author(const pdr_value *message,
                                            pdr_shape shape);
PDR_API const pdr_value *pdr_message_id(const pdr_value *message,
                                        pdr_shape shape);
PDR_API const pdr_value *pdr_message_contents(const pdr_value *message,
                                              pdr_shape shape);
PDR_API const pdr_value *pdr_message_properties(const pdr_value *message,
                                                pdr_shape shape);

/** When it was said. False if it does not say, or not in a way that can be
 * read; those of Python and Semantic Kernel never do.
 * @thread const @since 0.1 */
PDR_API bool pdr_message_created_at(pdr_datetime *out, const pdr_value *message,
                                    pdr_shape shape);

/* A message that is to be made. All borrowed for the call; what is empty or
 * NULL is left out. */
typedef struct pdr_message_parts {
    pdr_str role;                   /* must be there */
    pdr_str author;                 /* name of the speaker */
    pdr_str id;                     /* of the message */
    const pdr_datetime *created_at; /* written in UTC */
    const pdr_value *contents;      /* an array of contents in the same shape;
                                       NULL: an empty one */
    const pdr_value *properties;    /* an object */
    pdr_str model_id;               /* Semantic Kernel only */
    pdr_str media_type;             /* Semantic Kernel only */
} pdr_message_parts;

/** Make a message, members in the order of the shape's own edition. In Semantic
 * Kernel that is a message of a saved chat: the author is null if there is
 * none. Properties, id and time go into its metadata, which Semantic Kernel
 * reads but does not save again; without them it has none.
 * @param[out] out  owned; NULL on failure.
 * @return as pdr_content_new(), PDR_EINVALID (reason "field_missing") for an
 *         empty role, (reason "no_such_field") for a part that this shape has
 *         no place for. @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_message_new(pdr_value **out, pdr_shape shape,
                                              const pdr_message_parts *parts,
                                              pdr_err *err);

/** A message with one text. Fails as pdr_message_new() and
 * pdr_content_new_text(). @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_message_new_text(pdr_value **out,
                                                   pdr_shape shape,
                                                   pdr_str role, pdr_str text,
                                                   pdr_err *err);

/** Append the texts of a message, one after the other; contents of other kinds
 * have none. Half a surrogate pair becomes U+FFFD.
 * @return PDR_OK; what pdr_buf_reserve() gives. @thread const @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_message_text(pdr_buf *out,
                                               const pdr_value *message,
                                               pdr_shape shape, pdr_err *err);

/* --- properties and attribution ------------------------------------------ */

/** One additional property of a message or content. The exact name first, then
 * one that differs in the case of ASCII letters only. Takes no memory.
 * @param[out] out    borrowed from `properties`; NULL on failure.
 * @param properties  an object; NULL has none.
 * @return PDR_OK; PDR_ENOTFOUND (reason "no_property"); PDR_EINVALID (reason
 *         "key_ambiguous") if several differ in case only.
 * @thread const @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_property_get(const pdr_value **out,
                                               const pdr_value *properties,
                                               pdr_str name, pdr_err *err);

/* Which component supplied a message. All borrowed from it. */
typedef struct pdr_attribution {
    const pdr_value *source_type; /* string: "External", "ChatHistory",
                                     "AIContextProvider" or any other, in Python
                                     a class; NULL if it does not say */
    const pdr_value *source_id;   /* string; NULL if it does not say */
    const pdr_value *origins;     /* array: ids of sessions; NULL: none */
} pdr_attribution;

/** Who supplied it? Both ways of saying it are read in every shape.
 * @return false if it does not say: then it came from the caller.
 * @thread const @since 0.1 */
PDR_API bool pdr_message_attribution(pdr_attribution *out,
                                     const pdr_value *message, pdr_shape shape);

/* What a message is to be marked with. All borrowed for the call. */
typedef struct pdr_attribution_parts {
    pdr_str source_type;    /* empty: none */
    pdr_str source_id;      /* must be there */
    const pdr_str *origins; /* ids of sessions, `origin_count` of them */
    size_t origin_count;
} pdr_attribution_parts;

/** A message with a mark of who supplied it, in the way of its shape. A mark
 * that is there stays, member by member; ids of sessions are joined, each once,
 * in the order in which they came; what the mark has beside is kept. One that
 * is no object stays as it is. In every shape the ids stand in the member
 * "origin_session_ids": .NET has none for them.
 * @param[out] out  owned; NULL on failure. `message` is not changed.
 * @return PDR_OK; PDR_EINVALID with reason "wrong_kind", "field_missing",
 *         "bad_utf8"; PDR_ENOMEM; PDR_ELIMIT. @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_message_attribute(
    pdr_value **out, const pdr_value *message, pdr_shape shape,
    const pdr_attribution_parts *parts, pdr_err *err);

/* --- from shape to shape ------------------------------------------------- */

/**
 * Say the same in another shape. Nothing is lost: what the other shape has no
 * member for stands in extra members of a state document, with the .NET names
 * where there are some, else in a member "perdure" of the additional
 * properties, and comes back from there. A kind without a place in a state
 * document is wrapped into an "unknown" content and unwrapped again, in
 * Semantic Kernel into an empty text; the same shape gives the same value. The
 * tool of a call with a plugin is "plugin-function" in the other shapes.
 *
 * @param[out] out  owned; NULL on failure.
 * @param content   borrowed for the call; any value, not NULL.
 * @return PDR_OK, PDR_ENOMEM, PDR_ELIMIT.
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_content_convert(pdr_value **out,
                                                  const pdr_value *content,
                                                  pdr_shape from, pdr_shape to,
                                                  pdr_err *err);

/** As pdr_content_convert(), for a message with all its contents.
 * @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_message_convert(pdr_value **out,
                                                  const pdr_value *message,
                                                  pdr_shape from, pdr_shape to,
                                                  pdr_err *err);

PDR_END_DECLS

#endif
