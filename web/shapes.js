// Messages of the four shapes, as one: what .NET, Python, Semantic Kernel and
// state documents call the parts of a message. docs/formats/contents.md has the
// whole table; here is what people look at. What is not known is shown as it is.

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
  if (typeof v !== 'string') return v;
  try { return JSON.parse(v); } catch { return v; }
};

/** One content: {kind, ...} with `raw` as it is stored. */
function content(raw) {
  if (raw === null || typeof raw !== 'object') return { kind: 'other', raw };
  let type = raw.$type ?? raw.type;
  if (type === 'unknown' && raw.content && typeof raw.content === 'object') return { ...content(raw.content), outer: raw };
  type = KINDS[type] ?? type;
  switch (type) {
    case 'text': case 'reasoning':
      return { kind: type, text: String(first(raw.text, raw.Text, '')), raw };
    case 'functionCall':
      return { kind: 'call', id: first(raw.callId, raw.call_id, raw.Id, raw.id, ''), raw,
        name: first(raw.name, raw.FunctionName, raw.toolName, raw.tool_name, raw.$type ?? raw.type), arguments: parsed(first(raw.arguments, raw.Arguments)) };
    case 'functionResult':
      return { kind: 'result', id: first(raw.callId, raw.call_id, raw.CallId, raw.id, ''), raw,
        result: first(raw.result, raw.Result, raw.output, raw.outputs, raw.exception), failed: Boolean(raw.exception) };
    case 'data':
      return { kind: 'data', raw, uri: first(raw.uri, raw.Uri, raw.data, raw.Data, ''),
        name: first(raw.name, raw.FileName, ''), media: first(raw.mediaType, raw.media_type, raw.MimeType, '') };
    case 'file':
      return { kind: 'data', raw, uri: '', name: String(first(raw.fileId, raw.file_id, raw.FileId, raw.vectorStoreId, raw.vector_store_id, '')), media: 'a file at the service' };
    case 'error':
      return { kind: 'error', text: String(first(raw.message, raw.details, raw.errorCode, raw.error_code, 'an error')), code: first(raw.errorCode, raw.error_code), raw };
    case 'usage':
      return { kind: 'usage', usage: first(raw.details, raw.usage_details, raw.usage), raw };
    case 'ask': case 'told': {
      const call = content({ $type: 'functionCall', ...first(raw.toolCall, raw.function_call, raw.functionCall, {}) });
      return { kind: type, id: first(raw.requestId, raw.request_id, raw.id, ''), approved: raw.approved === true, call, raw };
    }
    default:
      return { kind: 'other', raw };
  }
}

function message(raw) {
  const role = first(raw.role?.Label, raw.Role?.Label, raw.role, raw.Role, '');
  return {
    role: String(typeof role === 'object' ? JSON.stringify(role) : role).toLowerCase(),
    author: first(raw.authorName, raw.author_name, raw.AuthorName, ''),
    contents: (first(raw.contents, raw.Items, raw.items) ?? (raw.text !== undefined ? [{ $type: 'text', text: raw.text }] : [])).map(content),
  };
}

/** A message of a chat, as the API tells it. */
export const chatMessage = (item) => ({ ...item, author: item.author ?? '', contents: (item.contents ?? []).map(content) });

/** An entry of a session: {seq, kind, correlation, created, messages, usage, isError}. */
export function entry(item) {
  const body = item.body ?? {};
  const list = Array.isArray(body.messages) ? body.messages : Array.isArray(body) ? body : [body.message ?? body];
  const isKnown = body && typeof body === 'object';
  return {
    seq: item.seq, kind: item.kind, created: first(body.createdAt, body.created_at, item.created), stored: item.created,
    correlation: item.correlationId ?? first(body.correlationId, body.correlation_id, ''),
    messages: isKnown ? list.filter((m) => m && typeof m === 'object').map(message) : [],
    usage: usage(first(body.usage, body.usage_details)),
    isError: body.isError === true || body.is_error === true, digest: item.digest, raw: body,
  };
}

/** Counts of tokens, under one set of names; null if there are none. */
export function usage(raw) {
  if (!raw || typeof raw !== 'object') return null;
  const n = (...names) => Number(first(...names.map((x) => raw[x]), 0)) || 0;
  const out = { input: n('inputTokenCount', 'input_token_count', 'inputTokens'), output: n('outputTokenCount', 'output_token_count', 'outputTokens') };
  out.total = n('totalTokenCount', 'total_token_count') || out.input + out.output;
  return out.total > 0 ? out : null;
}

/** What answers requests for approval, [[ask, isApproved]], as a state document says it. */
export function approval(answers) {
  return { messages: [{ role: 'user', contents: answers.map(([{ id, call }, approved]) => ({ $type: 'toolApprovalResponse', approved, requestId: id,
    toolCall: { $type: 'functionCall', name: call.name, arguments: call.arguments ?? {}, callId: call.id } })) }] };
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
