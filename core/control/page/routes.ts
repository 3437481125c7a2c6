// Serves the control page at `/` and its files, and exchanges a one-time code for the credential.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { GatewayError } from '../../errors.ts'
import type { CheckCredential } from '../../http/auth.ts'
import { readBody } from '../../http/body.ts'
import { failures, withoutBody } from '../../http/failure.ts'
import { setRouteGroup } from '../../http/route-list.ts'
import { type Static, Type } from '../../typebox.ts'
import { pageHeaders } from '../docs-page.ts'
import { type BuiltFile, readAsset, readIndex } from './files.ts'
import { type PanelPlace, type Panels, readPanelPart } from './panel-files.ts'
import type { SignInCodes } from './sign-in.ts'

export interface PageRoutesDeps {
  codes: Pick<SignInCodes, 'redeem' | 'explain'>
  panels: Pick<Panels, 'read'>
  check: CheckCredential
  credential: string
}

export function registerPage(app: FastifyInstance, { codes, panels, check, credential }: PageRoutesDeps): void {
  /** A wrong code counts as a failed attempt. */
  function refuseCode(request: FastifyRequest, reason: string): void {
    try {
      check(request, undefined)
    } catch (error) {
      throw error instanceof GatewayError && error.code === 'unauthorized'
        ? new GatewayError('unauthorized', reason)
        : error
    }
  }

  void app.register(async (routeGroup) => {
    setRouteGroup(routeGroup, 'page')
    routeGroup.addHook('preValidation', readBody({ maxBytes: 4096, accept: 'object' }))

    routeGroup.get('/', { schema: schemas.index }, async (request, reply) => {
      reply.headers(indexHeaders)
      return sendUnlessKnown(request, reply, await readIndex())
    })

    routeGroup.get<{ Params: { file: string } }>('/page/:file', { schema: schemas.asset }, async (request, reply) => {
      const { content, type, encoding } = await readAsset(request.params.file, request.headers['accept-encoding'])
      reply.headers({ ...assetHeaders, ...(encoding !== undefined && { 'content-encoding': encoding }) })
      return reply.type(type).send(content)
    })

    routeGroup.get<{ Params: { file: string } }>(
      '/page/panels/:file',
      { schema: schemas.panelPart },
      async (request, reply) => {
        reply.headers(panelHeaders)
        return sendUnlessKnown(request, reply, await readPanelPart(request.params.file))
      },
    )

    routeGroup.get<{ Params: PanelPlace & { '*': string } }>(
      '/page/panels/:kind/:name/*',
      { schema: schemas.panel },
      async (request, reply) => {
        reply.headers(panelHeaders)
        return sendUnlessKnown(request, reply, await panels.read(request.params, request.params['*']))
      },
    )

    routeGroup.post<{ Body: SignIn }>('/page/sign-in', { schema: schemas.signIn }, (request, reply) => {
      const { code } = request.body
      if (!codes.redeem(code)) refuseCode(request, codes.explain(code))
      return reply.header('cache-control', 'no-store').send({ ok: true, credential })
    })
  })
}

function sendUnlessKnown(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  { content, type, etag }: BuiltFile & { etag: string },
): FastifyReply {
  reply.header('etag', etag)
  if (headers['if-none-match'] === etag) return reply.code(304).send()
  return reply.type(type).send(content)
}

/** The page shows panels in frames. */
const indexHeaders = {
  ...pageHeaders,
  'content-security-policy': `${pageHeaders['content-security-policy']}; frame-src 'self'`,
}

/**
 * A panel is sandboxed wherever it is opened: it has an origin of its own, which may neither read the storage of the page
 * nor connect to anything. Its files come from another origin then, so they allow every one; they contain no data.
 */
const panelHeaders = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox allow-scripts allow-forms",
  'cache-control': 'no-cache',
  'access-control-allow-origin': '*',
  'cross-origin-resource-policy': 'cross-origin',
}

const assetHeaders = {
  'cache-control': 'public, max-age=31536000, immutable',
  'cross-origin-resource-policy': 'same-origin',
  vary: 'accept-encoding',
}

const SignIn = Type.Object({ code: Type.String({ description: 'The code of the link that the gateway printed.' }) })
type SignIn = Static<typeof SignIn>

const unchanged = withoutBody('It has not changed.')

const file = (description: string) => ({ description, content: { '*/*': { schema: Type.String() } } })

const schemas = {
  index: {
    summary: 'Shows the control page.',
    response: {
      200: file('A page without data that asks for the credential.'),
      304: unchanged,
    },
  },
  asset: {
    summary: 'Returns a file of the control page.',
    params: Type.Object({ file: Type.String() }),
    response: { 200: file('A script, a stylesheet or an image.'), ...failures(404) },
  },
  panelPart: {
    summary: 'Returns the script or the stylesheet that panels of the control page may use.',
    params: Type.Object({ file: Type.String() }),
    response: { 200: file('A script or a stylesheet.'), 304: unchanged, ...failures(404) },
  },
  panel: { hide: true },
  signIn: {
    summary: 'Exchanges a one-time code for the credential. A code is valid once, and for five minutes.',
    body: SignIn,
    response: {
      200: Type.Object({ ok: Type.Literal(true), credential: Type.String() }),
      ...failures(401, 429),
    },
  },
}
