// Messages of the four shapes, as one: what .NET, Python, Semantic Kernel and
// state documents call the parts of a message. docs/formats/contents.md has the
// whole table; here is what people look at. What is not known is shown as it is.

import { isObject, read, str, textOf } from './json.js';

const KINDS = {
  TextContent: 'text', ReasoningContent: 'reasoning', text_reasoning: 'reasoning', textReasoning: 'reasoning',
  function_call: 'functionCall', FunctionCallContent: 'functionCall', toolCall: 'functionCall',
  mcpServerToolCall: 'functionCall', mcp_server_tool_call: 'functionCall', shell_tool_call: 'functionCall',
  codeInterpreterToolCall: 'functionCall', code_interpreter_tool_call: 'functionCall',
  webSearchToolCall: 'functionCall', search_tool_call: 'functionCall', imageGenerationToolCall: 'functionCall',
  image_generation_tool_call: 'functionCall', computer_tool_call: 'functionCall',
  function_result: 'functionResult', FunctionResultContent: 'functionResult', toolResult: 'functionResult',
  mcpServerToolResult: 'functionResult', mcp_server_tool_result: 'functionResult', shell_tool_result: 'functionResult',
  codeInterpreterToolResult: 'functionResult', code_interpreter_tool_result: 'functionResult',
  webSearchToolResult: 'functionResult', search_tool_result: 'functionResult',
  imageGenerationToolResult: 'functionResult', image_generation_tool_result: 'functionResult', computer_tool_result: 'functionResult',
  hosted_file: 'file', hostedFile: 'file', FileReferenceContent: 'file', hosted_vector_store: 'file', hostedVectorStore: 'file',
  ImageContent: 'data', AudioContent: 'data', BinaryContent: 'data', uri: 'data',
  toolApprovalRequest: 'ask', function_approval_request: 'ask', functionApprovalRequest: 'ask', mcpServerToolApprovalRequest: 'ask',
  toolApprovalResponse: 'told', function_approval_response: 'told', functionApprovalResponse: 'told', mcpServerToolApprovalResponse: 'told',
};

const first = (...values) => values.find((v) => v !== undefined && v !== null);
const parsed = (v) => {
  if (typeof v !== 'string' || !/^\s*[[{]/.test(v)) return v;
  try { return read(v); } catch { return v; }
};

/** One content: {kind, ...} with `raw` as it is stored. */
function content(raw) {
  if (!isObject(raw)) return { kind: 'other', raw };
  let type = str(first(raw.$type, raw.type));
  if (type === 'unknown' && isObject(raw.content)) return { ...content(raw.content), outer: raw };
  type = Object.hasOwn(KINDS, type) ? KINDS[type] : type;
  switch (type) {
    case 'text': case 'reasoning':
      return { kind: type, text: str(first(raw.text, raw.Text)), raw };
    case 'functionCall':
      return { kind: 'call', id: str(first(raw.callId, raw.call_id, raw.Id, raw.id)), raw,
        name: str(first(raw.name, raw.FunctionName, raw.toolName, raw.tool_name, raw.$type, raw.type)), arguments: parsed(first(raw.arguments, raw.Arguments)) };
    case 'functionResult':
      return { kind: 'result', id: str(first(raw.callId, raw.call_id, raw.CallId, raw.id)), raw,
        result: first(raw.result, raw.Result, raw.output, raw.outputs, raw.exception), failed: Boolean(raw.exception) };
    case 'data':
      return { kind: 'data', raw, uri: str(first(raw.uri, raw.Uri, raw.data, raw.Data)),
        name: str(first(raw.name, raw.FileName)), media: str(first(raw.mediaType, raw.media_type, raw.MimeType)) };
    case 'file':
      return { kind: 'data', raw, uri: '', name: str(first(raw.fileId, raw.file_id, raw.FileId, raw.vectorStoreId, raw.vector_store_id)), media: 'a file at the service' };
    case 'error':
      return { kind: 'error', text: str(first(raw.message, raw.details, raw.errorCode, raw.error_code, 'an error')), code: str(first(raw.errorCode, raw.error_code)), raw };
    case 'usage':
      return { kind: 'usage', usage: first(raw.details, raw.usage_details, raw.usage), raw };
    case 'ask': case 'told': {
      const inner = first(raw.toolCall, raw.function_call, raw.functionCall);
      const call = content(Object.assign(Object.create(null), isObject(inner) ? inner : {}, { $type: 'functionCall' }));
      return { kind: type, id: str(first(raw.requestId, raw.request_id, raw.id)), approved: raw.approved === true, call, raw };
    }
    default:
      return { kind: 'other', raw };
  }
}

function message(raw) {
  const role = first(raw.role?.Label, raw.Role?.Label, raw.role, raw.Role);
  const list = first(raw.contents, raw.Items, raw.items);
  const said = list === undefined && raw.text !== undefined ? [Object.assign(Object.create(null), { $type: 'text', text: raw.text })] : [];
  return {
    role: str(role).toLowerCase(),
    author: str(first(raw.authorName, raw.author_name, raw.AuthorName)),
    contents: list === undefined ? said.map(content) : Array.isArray(list) ? list.map(content) : [{ kind: 'other', raw: list }],
  };
}

/** A message of a chat, as the API tells it. */
export function chatMessage(item) {
  return { ...item, author: str(item.author), role: str(item.role), contents: Array.isArray(item.contents) ? item.contents.map(content) : item.contents ? [{ kind: 'other', raw: item.contents }] : [] };
}

/** An entry of a session: {seq, kind, correlation, created, messages, usage, isError}. */
export function entry(item) {
  const body = isObject(item.body) || Array.isArray(item.body) ? item.body : {};
  const list = Array.isArray(body.messages) ? body.messages : Array.isArray(body) ? body : [body.message ?? body];
  return {
    seq: item.seq, kind: item.kind, created: str(first(body.createdAt, body.created_at, item.created)), stored: item.created,
    correlation: str(first(item.correlationId, body.correlationId, body.correlation_id)),
    messages: list.filter(isObject).map(message),
    usage: usage(first(body.usage, body.usage_details)),
    isError: body.isError === true || body.is_error === true, digest: item.digest, raw: item.body,
  };
}

/** Counts of tokens, under one set of names; null if there are none. */
export function usage(raw) {
  if (!isObject(raw)) return null;
  const n = (...names) => Number(first(...names.map((x) => raw[x]), 0)) || 0;
  const out = { input: n('inputTokenCount', 'input_token_count', 'inputTokens'), output: n('outputTokenCount', 'output_token_count', 'outputTokens') };
  out.total = n('totalTokenCount', 'total_token_count') || out.input + out.output;
  return out.total > 0 ? out : null;
}

/** What answers requests for approval, [[ask, isApproved]], as a state document says it; as text, so that
 * the numbers of a call are those that were approved. */
export function approval(answers) {
  const told = answers.map(([{ id, call }, approved]) => `{"$type":"toolApprovalResponse","approved":${approved},"requestId":${JSON.stringify(id)},"toolCall":` +
    `{"$type":"functionCall","name":${JSON.stringify(call.name)},"arguments":${call.arguments === undefined ? '{}' : textOf(call.arguments)},"callId":${JSON.stringify(call.id)}}}`);
  return `{"messages":[{"role":"user","contents":[${told}]}]}`;
}

/** Entries in order as turns: those of one run belong together. */
export function turns(entries) {
  const out = [];
  const open = new Map();
  for (const e of entries) {
    const key = e.correlation;
    const turn = key ? open.get(key) : undefined;
    if (turn && !(e.kind === 'request' && turn.response)) {
      turn.entries.push(e);
      if (e.kind === 'response') turn.response = e;
      continue;
    }
    const made = { correlation: key, entries: [e], response: e.kind === 'response' ? e : null };
    out.push(made);
    if (key) open.set(key, made);
  }
  return out;
}
