// Node's HTTP server. `import … from 'node:http'` would also load Node's fetch and WebSocket clients, which the gateway
// does not use here: this saves 20 ms of the start.
export const { createServer, ServerResponse, STATUS_CODES } = process.getBuiltinModule('node:http')
