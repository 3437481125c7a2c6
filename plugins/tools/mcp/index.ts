// The tools of MCP servers, local programs or remote services. A tool is called `<server>__<tool>` and exists while its
// server is connected.
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
    const troubles = new Map<string, string>()
    // If the process exits without closing its toolsets, the programs would keep running.
    const exit = new AbortController()
    const onExit = (): void => exit.abort()
    process.once('exit', onExit)
    const connections = Object.entries(servers).flatMap(([name, settings]) => {
      const fault = settingsFault(settings)
      if (fault === undefined) return [connect(name, settings)]
      const trouble = `The MCP server "${name}" is left out: ${fault}`
      context.log.warn({ server: name }, `${trouble}.`)
      reportTrouble(name, trouble)
      return []
    })
    // The gateway starts without waiting for a server; its tools are offered when it is connected.
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
        exit: exit.signal,
        log: context.log,
        onTools: (listed, call) => {
          offered.set(server, toTools(listed, { server, call, external: externalTexts(settings), log: context.log }))
          offerAll(context, servers, offered)
        },
        onHealth: (reason) =>
          reportTrouble(server, reason && `The MCP server "${server}" is not connected (${reason})`),
      })
    }

    /** The other servers keep their tools. */
    function reportTrouble(server: string, trouble: string | undefined): void {
      if (trouble === undefined) troubles.delete(server)
      else troubles.set(server, trouble)
      context.reportHealth(troubles.size === 0 ? undefined : [...troubles.values()].toSorted().join('. '))
    }
  },
})

/** A program of this machine describes its tools itself. A service may be somebody else's. */
const externalTexts = ({ trusted, url }: ServerSettings) => (trusted ? 'none' : url === undefined ? 'result' : 'all')

/** In the order of the configuration, so that a name clash is always resolved in the same way. */
function offerAll(context: ToolsetContext, servers: object, offered: ReadonlyMap<string, readonly Tool[]>): void {
  context.offer(Object.keys(servers).flatMap((server) => offered.get(server) ?? []))
}
