/*
 * reasons.h - the exact causes of failures. One row per cause: name, the code
 * that a caller reacts to, the slug that reaches callers, logs and the wire.
 * Slugs are never changed. Each has a test that provokes it.
 */
#ifndef PDR_BASE_REASONS_H
#define PDR_BASE_REASONS_H

#include <perdure/errors.h>

/* clang-format off */
#define PDR_REASON_MAP(X)                                                      \
    /* memory, contract */                                                     \
    X(NO_MEMORY,          NOMEM,       "no_memory")                            \
    X(BROKEN_CONTRACT,    MISUSE,      "broken_contract")                      \
    X(ALLOCATOR_IN_USE,   MISUSE,      "allocator_in_use")                     \
    X(MISSING_SLOT,       MISUSE,      "missing_slot")                         \
    X(TABLE_VERSION,      VERSION,     "table_version")                        \
    X(BUFFER_FULL,        LIMIT,       "buffer_full")                          \
    X(BAD_FORMAT,         INVALID,     "bad_format")                           \
    /* base */                                                                 \
    X(BAD_UTF8,           INVALID,     "bad_utf8")                             \
    X(BAD_BASE64,         INVALID,     "bad_base64")                           \
    X(BAD_UUID,           INVALID,     "bad_uuid")                             \
    X(BAD_DATETIME,       INVALID,     "bad_datetime")                         \
    X(DATETIME_RANGE,     INVALID,     "datetime_range")                       \
    X(NO_RANDOMNESS,      IO,          "no_randomness")                        \
    X(DIGEST_FAILED,      IO,          "digest_failed")                        \
    X(MAP_FULL,           LIMIT,       "map_full")                             \
    X(ARENA_FULL,         LIMIT,       "arena_full")                           \
    /* values */                                                               \
    X(WRONG_KIND,         INVALID,     "wrong_kind")                           \
    X(NOT_INTEGER,        INVALID,     "not_integer")                          \
    X(NUMBER_RANGE,       INVALID,     "number_range")                         \
    X(NOT_FINITE,         INVALID,     "not_finite")                           \
    X(BAD_NUMBER,         INVALID,     "bad_number")                           \
    X(LONE_SURROGATE,     INVALID,     "lone_surrogate")                       \
    X(SCRATCH_NEEDED,     MISUSE,      "scratch_needed")                       \
    X(BUILDER_ORDER,      MISUSE,      "builder_order")                        \
    X(TOO_DEEP,           LIMIT,       "too_deep")                             \
    X(TOO_LARGE,          LIMIT,       "too_large")                            \
    X(TOO_MANY_NODES,     LIMIT,       "too_many_nodes")                       \
    X(NO_MEMBER,          NOTFOUND,    "no_member")                            \
    X(NO_ELEMENT,         NOTFOUND,    "no_element")                           \
    X(BAD_POINTER,        INVALID,     "bad_pointer")                          \
    /* JSON text */                                                            \
    X(EMPTY_INPUT,        INVALID,     "empty_input")                          \
    X(BYTE_ORDER_MARK,    INVALID,     "byte_order_mark")                      \
    X(UTF16_INPUT,        INVALID,     "utf16_input")                          \
    X(UNEXPECTED_END,     INVALID,     "unexpected_end")                       \
    X(UNEXPECTED_BYTE,    INVALID,     "unexpected_byte")                      \
    X(TRAILING_DATA,      INVALID,     "trailing_data")                        \
    X(MISSING_SEPARATOR,  INVALID,     "missing_separator")                    \
    X(CONTROL_IN_STRING,  INVALID,     "control_in_string")                    \
    X(BAD_ESCAPE,         INVALID,     "bad_escape")                           \
    X(BARE_TOKEN,         INVALID,     "bare_token")                           \
    X(NO_KERNEL,          UNSUPPORTED, "no_kernel")                            \
    X(BAD_OPTION,         MISUSE,      "bad_option")                           \
    X(WALK_ORDER,         MISUSE,      "walk_order")                           \
    X(WRITER_ORDER,       MISUSE,      "writer_order")                         \
    /* choice of a format */                                                   \
    X(NO_FORMAT,          NOTFOUND,    "no_format")                            \
    X(UNKNOWN_FORMAT,     INVALID,     "unknown_format")                       \
    X(AMBIGUOUS_FORMAT,   INVALID,     "ambiguous_format")                     \
    /* MessagePack */                                                          \
    X(RESERVED_BYTE,      INVALID,     "reserved_byte")                        \
    X(BINARY_DATA,        INVALID,     "binary_data")                          \
    X(TIMESTAMP,          INVALID,     "timestamp")                            \
    X(UNKNOWN_EXTENSION,  INVALID,     "unknown_extension")                    \
    X(NAME_NO_STRING,     INVALID,     "name_no_string")                       \
    X(BAD_RECORD,         INVALID,     "bad_record")                           \
    X(INEXACT_NUMBER,     INVALID,     "inexact_number")                       \
    X(DUPLICATE_NAME,     INVALID,     "duplicate_name")                       \
    /* XML */                                                                  \
    X(BAD_XML,            INVALID,     "bad_xml")                              \
    X(XML_FORBIDDEN,      INVALID,     "xml_forbidden")                        \
    X(XML_ELEMENT,        INVALID,     "xml_element")                          \
    X(XML_ATTRIBUTE,      INVALID,     "xml_attribute")                        \
    X(XML_TEXT,           INVALID,     "xml_text")                             \
    /* state documents */                                                      \
    X(STATE_NOT_JSON,     INVALID,     "state_not_json")                       \
    X(SCHEMA_VERSION_MISSING, INVALID, "schema_version_missing")               \
    X(SCHEMA_VERSION_INVALID, INVALID, "schema_version_invalid")               \
    X(SCHEMA_VERSION_UNSUPPORTED, VERSION, "schema_version_unsupported")       \
    X(DATA_MISSING,       INVALID,     "data_missing")                         \
    X(DATA_INVALID,       INVALID,     "data_invalid")                         \
    X(BAD_ID,             INVALID,     "bad_id")                               \
    X(NO_MIGRATION,       VERSION,     "no_migration")                         \
    X(CANNOT_CARRY,       INVALID,     "cannot_carry")                         \
    X(CANNOT_REPAIR,      INVALID,     "cannot_repair")                        \
    /* messages and contents */                                                \
    X(NO_SUCH_KIND,       INVALID,     "no_such_kind")                         \
    X(NO_SUCH_FIELD,      INVALID,     "no_such_field")                        \
    X(FIELD_MISSING,      INVALID,     "field_missing")                        \
    /* JSON Schema, patterns */                                                \
    X(UNKNOWN_KEYWORD,    INVALID,     "unknown_keyword")                      \
    X(BAD_SCHEMA,         INVALID,     "bad_schema")                           \
    X(NO_DEFINITION,      INVALID,     "no_definition")                        \
    X(CHECK_LIMIT,        LIMIT,       "check_limit")                          \
    X(BAD_PATTERN,        INVALID,     "bad_pattern")                          \
    X(PATTERN_LIMIT,      LIMIT,       "pattern_limit")                        \
    /* bags, sessions, providers */                                            \
    X(KEY_NULL,           INVALID,     "key_null")                             \
    X(KEY_BLANK,          INVALID,     "key_blank")                            \
    X(KEY_TOO_LONG,       INVALID,     "key_too_long")                         \
    X(NO_SLOT,            NOTFOUND,    "no_slot")                              \
    X(TOO_MANY_SLOTS,     LIMIT,       "too_many_slots")                       \
    X(BAG_NOT_OBJECT,     INVALID,     "bag_not_object")                       \
    X(BAG_IN_UPDATE,      MISUSE,      "bag_in_update")                        \
    X(BAG_SEALED,         INVALID,     "bag_sealed")                           \
    X(BAG_CHANGED,        CONFLICT,    "bag_changed")                          \
    X(STATE_DECODE,       INVALID,     "state_decode")                         \
    X(STATE_TYPE_MISMATCH, INVALID,    "state_type_mismatch")                  \
    X(STATE_ENCODE,       INVALID,     "state_encode")                         \
    X(STATE_KEY_CLASH,    INVALID,     "state_key_clash")                      \
    X(NO_INITIALISER,     INVALID,     "no_initialiser")                       \
    X(TWO_HISTORIES,      INVALID,     "two_histories")                        \
    X(SESSION_NOT_OBJECT, INVALID,     "session_not_object")                   \
    X(SESSION_UNKNOWN_SHAPE, INVALID,  "session_unknown_shape")                \
    X(SESSION_MEMBER,     INVALID,     "session_member")                       \
    X(SESSION_KIND,       INVALID,     "session_kind")                         \
    X(SESSION_VERSION,    VERSION,     "session_version")                      \
    X(SERVICE_ID,         INVALID,     "service_id")                           \
    X(HISTORY_SHAPE,      INVALID,     "history_shape")                        \
    X(HISTORY_KEY,        INVALID,     "history_key")                          \
    X(LEAK_SESSION,       INVALID,     "leak_session")                         \
    X(LEAK_ADDRESS,       INVALID,     "leak_address")                         \
    X(LEAK_KEY,           INVALID,     "leak_key")                             \
    X(LEAK_SECRET,        INVALID,     "leak_secret")                          \
    X(LEAK_PROCESS,       INVALID,     "leak_process")                         \
    /* snapshot folders */                                                     \
    X(NO_FOLDER,          NOTFOUND,    "no_folder")                            \
    X(NO_SESSION,         NOTFOUND,    "no_session")                           \
    X(FOLDER_KEY,         INVALID,     "folder_key")                           \
    X(FILE_LINK,          INVALID,     "file_link")                            \
    X(FILE_FAILED,        IO,          "file_failed")                          \
    X(FILE_CHANGED,       CORRUPT,     "file_changed")                         \
    X(KEY_COLLISION,      INVALID,     "key_collision")                        \
    X(DAMAGED,            CORRUPT,     "damaged")                              \
    X(QUARANTINED,        CORRUPT,     "quarantined")                          \
    X(QUARANTINE_FULL,    CORRUPT,     "quarantine_full")                      \
    X(ENVELOPE,           INVALID,     "envelope")                             \
    X(GENERATION_CHANGED, CONFLICT,    "generation_changed")                   \
    X(SYNC_FAILED,        UNKNOWN,     "sync_failed")                          \
    X(DAMAGED_RECORD,     CORRUPT,     "damaged_record")                       \
    /* metadata */                                                             \
    X(NO_PROPERTY,        NOTFOUND,    "no_property")                          \
    X(PROPERTY_EXISTS,    EXISTS,      "property_exists")                      \
    X(KEY_AMBIGUOUS,      INVALID,     "key_ambiguous")                        \
    X(TOO_MANY_PROPERTIES, LIMIT,      "too_many_properties")                  \
    X(META_DECODE,        INVALID,     "meta_decode")                          \
    X(SESSION_REGISTERED, EXISTS,      "session_registered")                   \
    X(NOT_REGISTERED,     NOTFOUND,    "not_registered")                       \
    /* stores */                                                               \
    X(BAD_URI,            INVALID,     "bad_uri")                              \
    X(BACKEND_EXISTS,     EXISTS,      "backend_exists")                       \
    X(TOO_MANY_BACKENDS,  LIMIT,       "too_many_backends")                    \
    X(NO_STORE,           NOTFOUND,    "no_store")                             \
    X(NOT_A_STORE,        INVALID,     "not_a_store")                          \
    X(STORE_VERSION,      VERSION,     "store_version")                        \
    X(STORE_DAMAGED,      CORRUPT,     "store_damaged")                        \
    X(STORE_LOCKED,       BUSY,        "store_locked")                         \
    X(STORE_CHANGED,      CONFLICT,    "store_changed")                        \
    X(UNSAFE_FILE,        DENIED,      "unsafe_file")                          \
    X(WRONG_KEY,          DENIED,      "wrong_key")                            \
    X(BAD_KEY_FILE,       INVALID,     "bad_key_file")                         \
    X(NO_KEY_FILE,        NOTFOUND,    "no_key_file")                          \
    X(READ_ONLY,          DENIED,      "read_only")                            \
    X(IN_DOUBT,           IO,          "in_doubt")                             \
    X(COMMIT_UNKNOWN,     UNKNOWN,     "commit_unknown")                       \
    X(AFTER_FORK,         MISUSE,      "after_fork")                           \
    X(DISK_FULL,          IO,          "disk_full")                            \
    X(BAD_REF,            INVALID,     "bad_ref")                              \
    X(BAD_EDIT,           INVALID,     "bad_edit")                             \
    X(BAD_BODY,           INVALID,     "bad_body")                             \
    X(BAD_QUERY,          INVALID,     "bad_query")                            \
    X(BAD_CURSOR,         INVALID,     "bad_cursor")                           \
    X(ROW_TOO_LARGE,      LIMIT,       "row_too_large")                        \
    X(COMMIT_TOO_LARGE,   LIMIT,       "commit_too_large")                     \
    X(COUNTER_LIMIT,      LIMIT,       "counter_limit")                        \
    X(REVISION_CHANGED,   CONFLICT,    "revision_changed")                     \
    X(EPOCH_CHANGED,      CONFLICT,    "epoch_changed")                        \
    X(CURSOR_GONE,        NOTFOUND,    "cursor_gone")                          \
    X(NOT_IN_INBOX,       CONFLICT,    "not_in_inbox")                         \
    X(INBOX_FULL,         LIMIT,       "inbox_full")                           \
    X(SESSION_EXISTS,     EXISTS,      "session_exists")                       \
    X(COMPLETION_EXISTS,  EXISTS,      "completion_exists")                    \
    X(LEASE_LOST,         FENCED,      "lease_lost")                           \
    X(LEASE_HELD,         BUSY,        "lease_held")                           \
    X(WRITER_BUSY,        BUSY,        "writer_busy")                          \
    X(NO_COMPLETION,      NOTFOUND,    "no_completion")                        \
    X(NO_FRAME,           NOTFOUND,    "no_frame")                             \
    X(BAD_DIGEST,         CORRUPT,     "bad_digest")                           \
    X(BROKEN_CHAIN,       CORRUPT,     "broken_chain")                         \
    X(WRONG_COUNT,        CORRUPT,     "wrong_count")                          \
    X(WRONG_INDEX,        CORRUPT,     "wrong_index")                          \
    X(NO_STAGE,           NOTFOUND,    "no_stage")                             \
    X(COMPLETION_CHANGED, CONFLICT,    "completion_changed")                   \
    X(AHEAD_OF_ORIGIN,    CONFLICT,    "ahead_of_origin")                      \
    X(NO_VACUUM,          UNSUPPORTED, "no_vacuum")                            \
    X(NO_BACKUP,          UNSUPPORTED, "no_backup")                            \
    X(BAD_TARGET,         INVALID,     "bad_target")                           \
    X(FILE_EXISTS,        EXISTS,      "file_exists")                          \
    X(NOTHING_CHANGED,    TIMEOUT,     "nothing_changed")                      \
    X(WATCH_STOPPED,      CANCELLED,   "watch_stopped")                        \
    /* engine */                                                               \
    X(BAD_ENGINE,         INVALID,     "bad_engine")                           \
    X(BAD_OPERATION,      INVALID,     "bad_operation")                        \
    X(NO_ENTITY,          INVALID,     "no_entity")                            \
    X(ENTITY_EXISTS,      EXISTS,      "entity_exists")                        \
    X(TOO_MANY_ENTITIES,  LIMIT,       "too_many_entities")                    \
    X(ENGINE_STOPPED,     MISUSE,      "engine_stopped")                       \
    X(BAD_ADDRESS,        INVALID,     "bad_address")                          \
    X(OPEN_ADDRESS,       DENIED,      "open_address")                         \
    X(NO_KEY,             NOTFOUND,    "no_key")                               \
    X(CANNOT_LISTEN,      IO,          "cannot_listen")                        \
    X(NO_THREAD,          IO,          "no_thread")                            \
    X(CORRELATION_REUSED, CONFLICT,    "correlation_reused")                   \
    X(RESPONSE_TIMEOUT,   TIMEOUT,     "response_timeout")                     \
    /* archive */                                                              \
    X(NO_SESSION_ID,      INVALID,     "no_session_id")                        \
    X(MEMBER_ORDER,       UNSUPPORTED, "member_order")                         \
    X(MEMBER_LATE,        UNSUPPORTED, "member_late")                          \
    X(BAD_FRAME,          CORRUPT,     "bad_frame")                            \
    X(SESSION_CHANGED,    CONFLICT,    "session_changed")                      \
    X(CANNOT_EXPORT,      INVALID,     "cannot_export")                        \
    X(HISTORY_SLOT,       INVALID,     "history_slot")                         \
    X(BAD_RETENTION,      INVALID,     "bad_retention")                        \
    X(STORE_CLOSED,       MISUSE,      "store_closed")                         \
    /* agents */                                                               \
    X(BAD_SCRIPT,         INVALID,     "bad_script")                           \
    X(BAD_CLIENT,         INVALID,     "bad_client")                           \
    X(MODEL_FAILED,       MODEL,       "model_failed")                         \
    X(MODEL_REQUEST,      MODEL,       "model_request")                        \
    X(MODEL_CONTEXT,      MODEL,       "model_context_length")                 \
    X(MODEL_AUTH,         MODEL,       "model_auth")                           \
    X(MODEL_QUOTA,        MODEL,       "model_quota")                          \
    X(MODEL_RATE_LIMIT,   MODEL,       "model_rate_limit")                     \
    X(MODEL_TRANSIENT,    MODEL,       "model_transient")                      \
    X(MODEL_SERVER,       MODEL,       "model_server")                         \
    X(MODEL_NETWORK,      MODEL,       "model_network")                        \
    X(MODEL_TRUNCATED,    MODEL,       "model_truncated")                      \
    X(MODEL_PROTOCOL,     MODEL,       "model_protocol")                       \
    X(RUN_CANCELLED,      CANCELLED,   "run_cancelled")                        \
    X(SESSION_BUSY,       BUSY,        "session_busy")                         \
    X(BAD_TOOL,           INVALID,     "bad_tool")                             \
    X(TOOL_CLASH,         INVALID,     "tool_clash")                           \
    X(TOOL_FAILED,        IO,          "tool_failed")                          \
    X(TOOL_TIMEOUT,       TIMEOUT,     "tool_timeout")                         \
    X(RUN_TIMEOUT,        TIMEOUT,     "run_timeout")                          \
    X(APPROVAL_RECORD,    INVALID,     "approval_record")                      \
    X(BAD_OUTPUT,         MODEL,       "bad_output")                           \
    X(INVALID_REQUEST,    INVALID,     "invalid_request")                      \
    X(BAD_JOURNAL,        CORRUPT,     "bad_journal")                          \
    X(NO_AGENT,           NOTFOUND,    "no_agent")                             \
    X(BAD_AGENT,          INVALID,     "bad_agent")                            \
    /* chats */                                                                \
    X(BAD_CHAT,           INVALID,     "bad_chat")                             \
    X(CHAT_VERSION,       VERSION,     "chat_version")                         \
    X(BAD_MAC,            CORRUPT,     "bad_mac")                              \
    X(BAD_CHAIN,          CORRUPT,     "bad_chain")                            \
    X(BAD_CHANNEL_STATE,  INVALID,     "bad_channel_state")                    \
    /* definition files */                                                     \
    X(BAD_YAML,           INVALID,     "bad_yaml")                             \
    X(BAD_DEFINITION,     INVALID,     "bad_definition")                       \
    X(LITERAL_SECRET,     INVALID,     "literal_secret")                       \
    X(NO_VARIABLE,        INVALID,     "no_variable")                          \
    X(AGENT_EXISTS,       EXISTS,      "agent_exists")                         \
    /* chats */                                                                \
    X(BAD_REDUCTION,      INVALID,     "bad_reduction")                        \
    X(CHAT_BUSY,          BUSY,        "chat_busy")                            \
    X(SYSTEM_MESSAGE,     INVALID,     "system_message")                       \
    X(CHANNEL_FAILED,     IO,          "channel_failed")                       \
    X(WRONG_CHANNEL,      INVALID,     "wrong_channel")                        \
    X(NO_AGENTS,          NOTFOUND,    "no_agents")                            \
    X(BAD_PROMPT,         INVALID,     "bad_prompt")                           \
    X(BAD_SELECTION,      INVALID,     "bad_selection")                        \
    X(CHAT_COMPLETE,      MISUSE,      "chat_complete")                        \
    X(CHAT_IN_USE,        EXISTS,      "chat_in_use")                          \
    X(CHAT_CHANGED,       CONFLICT,    "chat_changed")                         \
    X(NO_COUNT,           UNSUPPORTED, "no_count")
/* clang-format on */

enum pdr__reason {
#define PDR_REASON_ENUM(name, code, slug) PDR_R_##name,
    PDR_REASON_MAP(PDR_REASON_ENUM)
#undef PDR_REASON_ENUM
        PDR_REASON_COUNT
};

/* The code of each reason as a constant, so that PDR_FAIL() can return it. */
enum pdr__reason_code {
#define PDR_REASON_CODE(name, code, slug) PDR_RC_##name = PDR_E##code,
    PDR_REASON_MAP(PDR_REASON_CODE)
#undef PDR_REASON_CODE
};

#endif
