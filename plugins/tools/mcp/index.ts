// Tools of MCP servers, programs on this machine or services elsewhere: each becomes `<server>__<tool>` while its
// server is there.
import { defineToolset, type Tool, type ToolsetContext } from 'svc-gateway/plugin'
import { keepConnected } from './connection.ts'
import { Config, type ServerSettings, settingsFault } from './settings.ts'
import { group, toolPrefix, toTools } from './tools.ts'

export default defineToolset<Config>({
  name: 'mcp',
  description: 'Tools of MCP servers.',
  config: Config,
  expected: ({ servers }) => Object.keys(servers).map((server) => ({ name: `${toolPrefix(server)}*`, group })),
  async open({ servers }, context) {
    const offered = new Map<string, readonly Tool[]>()
    // Where the process exits without closing anything, its programs would live on.
    const exit = new AbortController()
    const onExit = (): void => exit.abort()
    process.once('exit', onExit)
    const connections = Object.entries(servers).flatMap(([name, settings]) => {
      const fault = settingsFault(settings)
      if (fault === undefined) return [connect(name, settings)]
      context.log.warn({ server: name }, `The MCP server "${name}" is left out: ${fault}.`)
      return []
    })
    // Nothing here waits for a server: the gateway starts without it, and its tools come when it does.
    return {
      tools: [],
      close: async () => {
        await Promise.all(connections.map(({ close }) => close()))
        process.off('exit', onExit)
      },
    }

    function connect(server: string, settings: ServerSettings) {
      return keepConnected({
        server,
        settings,
        signal: context.signal,
        exit: exit.signal,
        log: context.log,
        onTools: (listed, call) => {
          offered.set(server, toTools(listed, { server, call, log: context.log }))
          offerAll(context, servers, offered)
        },
      })
    }
  },
})

/** In the order of the configuration, so that of two tools of one name always the same one counts. */
function offerAll(context: ToolsetContext, servers: object, offered: ReadonlyMap<string, readonly Tool[]>): void {
  context.offer(Object.keys(servers).flatMap((server) => offered.get(server) ?? []))
}
