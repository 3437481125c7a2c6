// The check of the channel contract about requests that its platform has not signed.
import { expect } from 'vitest'
import type { PlatformRequest } from '../../core/plugin/plugin.ts'
import { type ChannelCheck, expectNext, type Scene } from './channel-scene.ts'
import type { PlatformSignature } from './platform.ts'

export const forgeryCheck = <Config>(): ChannelCheck<Config> => ({
  name: 'refuses requests that its platform has not signed',
  advice:
    'Verify the signature over `request.body` before anything else in `handle`: all of it, and its time if it has one. ' +
    'Return `{ status: 401 }` if it is missing or wrong.',
  concerns: ['signature'],
  run: refusesForgeries,
})

async function refusesForgeries<Config>(scene: Scene<Config>) {
  const { channel, platform, gateway, can, captureRequest } = scene
  const { handle } = await gateway.connection()
  // Without `handle` there is nothing to forge.
  if (!handle) return expect(platform.signature, '`signature` without `handle`').toBeUndefined()
  can('signature')
  const request = await captureRequest(said)
  if (!request) throw new Error('The double must send what is said to the function that it gets in `webhook`.')
  const accepted: string[] = []
  for (const [what, forged] of forgeriesOf(request, platform.signature!, channel.name)) {
    const { status } = await gateway.handle(forged)
    if (status !== 401 && status !== 403 && forged.method === 'POST') accepted.push(`${what}: ${status}`)
  }
  expect(accepted, 'forged requests that were not answered with 401').toEqual([])
  expect(gateway.offered, 'messages of forged requests').toEqual([])
  // What was refused was refused for its signature, and a repeated request is a duplicate.
  for (const _ of [1, 2]) expect((await gateway.handle(request)).status).toBe(200)
  expect((await gateway.next()).text).toBe(said)
  await expectNext(scene, 'later')
}

/** One word, so that the body of a form has it, too. */
const said = 'transfer'

type Headers = Readonly<Record<string, string>>
type Forgery = readonly [what: string, request: PlatformRequest]

function forgeriesOf(request: PlatformRequest, signature: PlatformSignature, name: string): Forgery[] {
  const { coversBody, maxAgeMs } = signature
  const now = Date.now()
  const sign = (body: Uint8Array, { at = now, forged = false } = {}) => signature.sign(body, { at, forged })
  const proof = sign(request.body)
  const unsigned: Record<string, string | undefined> = { ...request.headers }
  for (const header of Object.keys(proof)) delete unsigned[header]
  const withProof = (headers: Headers, more: Partial<PlatformRequest> = {}): PlatformRequest => ({
    ...request,
    ...more,
    headers: { ...unsigned, ...headers },
  })
  const bodies = [
    Buffer.from(Buffer.from(request.body).toString().replace(said, 'transfar')),
    Buffer.concat([request.body, Buffer.from(' ')]),
  ]
  return [
    ['without a signature', withProof({})],
    ['without a signature, as GET', withProof({}, { method: 'GET' })],
    ['without a signature, from a known program', withProof({ ...nearby, 'user-agent': agentOf(request, name) })],
    ['signed with another secret', withProof(sign(request.body, { forged: true }))],
    ...Object.keys(proof).flatMap((header) =>
      variantsOf(header, proof).map(([what, headers]): Forgery => [what, withProof(headers)]),
    ),
    ...(coversBody ? bodies.map((body): Forgery => ['with another body', withProof(proof, { body })]) : []),
    ...(maxAgeMs === undefined
      ? []
      : oldProofs(proof, sign(request.body, { at: now - maxAgeMs - 60_000 })).map(([what, headers]): Forgery => [
          what,
          withProof(headers),
        ])),
  ]
}

const agentOf = ({ headers }: PlatformRequest, name: string): string => headers['user-agent'] ?? `${name}/1.0`

/** Anybody can write these. */
const nearby = {
  host: 'localhost',
  'x-forwarded-for': '127.0.0.1',
  'x-real-ip': '127.0.0.1',
  origin: 'http://localhost',
}

/** One header of the proof is missing or slightly wrong, and the others are right. */
function variantsOf(header: string, proof: Headers): [what: string, headers: Headers][] {
  const { [header]: value = '', ...others } = proof
  // The last long word, without what follows in base64. Its last digits may say nothing.
  const [, before = '', word = value] = /^(.*?)([\w+/.-]{8,})[^\w+/.-]*$/s.exec(value) ?? []
  const after = value.slice(before.length + word.length)
  const build = (changed: string): Headers => ({ ...others, [header]: `${before}${changed}${after}` })
  const isHex = /^[\da-f]+$/i.test(word)
  return [
    [`without ${header}`, others],
    [`with an empty ${header}`, { ...others, [header]: '' }],
    [`with another beginning of ${header}`, build(changeAt(word, 0))],
    [`with another middle of ${header}`, build(changeAt(word, Math.floor(word.length / 2)))],
    [`with another end of ${header}`, build(changeAt(word, Math.max(0, word.length - 4)))],
    [`with half of ${header}`, { ...others, [header]: `${before}${word.slice(0, word.length / 2)}` }],
    ...(isHex ? [] : [[`with ${header} in another case`, build(swapCase(word))] satisfies [string, Headers]]),
  ]
}

/** Another digit, which is one in hexadecimal, too. */
const changeAt = (word: string, index: number): string =>
  `${word.slice(0, index)}${word[index] === '0' ? '1' : '0'}${word.slice(index + 1)}`

const swapCase = (word: string): string =>
  word.replaceAll(/[a-z]/gi, (letter) => (letter < 'a' ? letter.toLowerCase() : letter.toUpperCase()))

/** Somebody has kept a request, and may give it another time. */
function oldProofs(proof: Headers, old: Headers): [what: string, headers: Headers][] {
  const several = Object.keys(proof).length > 1 ? Object.keys(proof) : []
  return [
    ['signed too long ago', old],
    ...several.map((header): [string, Headers] => [
      `signed too long ago, with another ${header}`,
      { ...old, [header]: proof[header] ?? '' },
    ]),
  ]
}
