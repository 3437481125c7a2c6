// Node's HTTP server without what `import … from 'node:http'` brings along: its whole fetch and WebSocket client,
// loaded for nobody, 20 ms of the start.
export const { createServer, ServerResponse, STATUS_CODES } = process.getBuiltinModule('node:http')
