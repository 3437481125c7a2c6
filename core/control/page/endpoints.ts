// The endpoints for the control page: a link that signs a browser tab in, and the panels that extensions bring.
import { GatewayError } from '../../errors.ts'
import { failures } from '../../http/failure.ts'
import type { RegisteredTool } from '../../tools/registry.ts'
import { Type } from '../../typebox.ts'
import { type Endpoint, endpoint } from '../endpoint.ts'
import type { FoundPanel, Panels } from './panel-files.ts'
import type { SignInCodes } from './sign-in.ts'

interface PageEndpointsDeps {
  config: { gateway: { page: boolean } }
  signInCodes: Pick<SignInCodes, 'issue'>
  panels: Pick<Panels, 'list'>
  tools: () => readonly RegisteredTool[]
}

export const pageEndpoints = ({ config, signInCodes, panels, tools }: PageEndpointsDeps): Endpoint[] => [
  endpoint({
    method: 'POST',
    path: '/api/page/link',
    // The link hands out the gateway's own credential.
    access: { needs: 'admin', scope: 'gateway', action: 'page.link', recordsAfter: true },
    schema: {
      summary: 'Creates a link to the control page that signs one browser tab in.',
      response: { 200: Link, ...failures(409) },
    },
    handle: async () => {
      if (!config.gateway.page)
        throw new GatewayError('conflict', 'The control page is off; set gateway.page to true to serve it.')
      return { ok: true, path: pageLink(signInCodes) }
    },
  }),
  endpoint({
    method: 'GET',
    path: '/api/panels',
    access: { needs: 'read', scope: 'public' },
    schema: {
      summary: 'Lists the panels of the control page that extensions bring.',
      response: { 200: PanelList },
    },
    handle: async () => ({ items: config.gateway.page ? panels.list().map((one) => viewPanel(one, tools())) : [] }),
  }),
]

/** The path of the page with a new code, which browsers do not send to servers or proxies. */
export const pageLink = ({ issue }: Pick<SignInCodes, 'issue'>): string => `/#code=${issue()}`

const viewPanel = ({ kind, name, source, panel }: FoundPanel, tools: readonly RegisteredTool[]) => ({
  kind,
  name,
  source,
  title: panel.title,
  path: `/page/panels/${kind}/${name}/index.html`,
  reads: panel.reads ?? [],
  tools: kind === 'toolset' ? tools.filter(({ toolset }) => toolset === name).map(({ tool }) => tool.name) : [],
})

const PanelList = Type.Object({
  items: Type.Array(
    Type.Object({
      kind: Type.Enum(['channel', 'toolset', 'preset'], { description: 'What the extension is.' }),
      name: Type.String({ description: 'The name of the extension.' }),
      source: Type.String({ description: 'The entry of `plugins`, or `svc-gateway`.' }),
      title: Type.String(),
      path: Type.String({ description: 'Where its first file is.' }),
      reads: Type.Array(Type.String(), { description: 'The routes that it may read.' }),
      tools: Type.Array(Type.String(), { description: 'The tools that it may call.' }),
    }),
  ),
})

const Link = Type.Object({
  ok: Type.Literal(true),
  path: Type.String({
    description: 'To be appended to the address of the gateway. It is valid once, and for five minutes.',
  }),
})
