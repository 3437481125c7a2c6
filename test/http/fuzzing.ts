// Sends mutated requests: every response must be a 2xx, or a 4xx with the envelope, and the server must survive.
import { connect } from 'node:net'
import { expect } from 'vitest'
import { type App, bearer, rawRequest } from './app.ts'

/** A small seeded generator (mulberry32), so that a failure can be run again. */
export function createRandom(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

const payloads = [
  '{"action":"opened","issue":{"number":1,"title":"Crash: \\u00fc\\ud83d\\ude00","labels":[{"name":"bug"}]},' +
    '"sender":{"login":"x"}}',
  '{"id":"evt_1","object":"event","data":{"object":{"amount":2000,"currency":"eur","metadata":{}}},"livemode":false}',
  '{"receiver":"web","status":"firing","alerts":[{"labels":{"severity":"page"},"annotations":{},' +
    '"startsAt":"2026-01-01T00:00:00Z"}]}',
  '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},"n":[1e308,-0,9007199254740993]}',
  '[[[[{"a":[null,true,false,""]}]]]]',
]
const tokens = [
  '{',
  '}',
  '[',
  ']',
  '"',
  ':',
  ',',
  '\\u',
  '\\ud800',
  '\0',
  '\ufeff',
  '1e999',
  '"__proto__":',
  '\r\n\r\n',
  'é',
  '[['.repeat(40),
]

/** One to four edits: a changed, dropped or repeated byte, a token of JSON, a cut. */
export function mutate(source: Buffer, random: (below: number) => number): Buffer {
  let bytes = Buffer.from(source)
  for (let edits = 1 + random(4); edits > 0; edits--) {
    const at = random(bytes.length + 1)
    const insert = [
      Buffer.from([random(256)]),
      Buffer.from(tokens[random(tokens.length)]!),
      bytes.subarray(at, at + random(16)),
      Buffer.alloc(0),
    ][random(4)]!
    const skip = random(3) === 0 ? random(8) : 0
    bytes =
      random(40) === 0
        ? bytes.subarray(0, at)
        : Buffer.concat([bytes.subarray(0, at), insert, bytes.subarray(at + skip)])
  }
  return bytes
}

/** Sends mutated bodies over keep-alive connections. */
export async function fuzzBodies({ port }: App, random: (below: number) => number, times: number): Promise<void> {
  for (let sent = 0; sent < times;) {
    const batch = Array.from({ length: Math.min(500, times - sent) }, () =>
      mutate(Buffer.from(payloads[random(payloads.length)]!), random),
    )
    sent += batch.length
    const answers = await pipeline(
      port,
      batch.map((body) =>
        Buffer.concat([Buffer.from(rawRequest('', { headers: [`Content-Length: ${body.length}`] })), body]),
      ),
    )
    expect(answers).toHaveLength(batch.length)
    const strange = answers.findIndex((status) => !/^(200|400)$/.test(status))
    if (strange !== -1) expect.fail(`${answers[strange]} to ${JSON.stringify(batch[strange]!.toString('latin1'))}`)
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
  }
}

/** Sends requests that are mutated as a whole, each on a connection of its own. */
export async function fuzzRequests(
  { port, url }: App,
  random: (below: number) => number,
  times: number,
): Promise<void> {
  for (let sent = 0; sent < times; sent += 50) {
    const batch = Array.from({ length: 50 }, () =>
      mutate(Buffer.from(rawRequest(payloads[random(payloads.length)]!), 'latin1'), random),
    )
    const answers = await Promise.all(batch.map((bytes) => oneWay(port, bytes)))
    answers.forEach((answer, index) => {
      if (!/^(HTTP\/1\.1 [24]\d\d .*|)$/.test(answer.split('\r\n', 1)[0]!))
        expect.fail(`${answer} to ${JSON.stringify(batch[index]!.toString('latin1'))}`)
    })
  }
  expect((await fetch(`${url}/hooks/echo`, { method: 'POST', body: '{}', headers: bearer })).status).toBe(200)
}

/** Writes everything at once and collects as many status codes as there are requests. */
function pipeline(port: number, requests: Buffer[]): Promise<string[]> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    const statuses: string[] = []
    let rest = ''
    socket.on('data', (chunk) => {
      const text = rest + chunk.toString('latin1')
      for (const [, status] of text.matchAll(/HTTP\/1\.1 (\d{3}) [A-Z][A-Za-z ]+\r\n/g)) statuses.push(status!)
      rest = text.slice(-40).replace(/^[^]*HTTP\/1\.1 \d{3} [A-Z][A-Za-z ]+\r\n/, '')
      if (statuses.length >= requests.length) socket.destroy()
    })
    socket.on('error', reject).on('close', () => resolve(statuses))
    socket.write(Buffer.concat(requests))
  })
}

/** Sends bytes, ends the writing side, and reads the response. */
function oneWay(port: number, bytes: Buffer): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    const received: Buffer[] = []
    socket.on('data', (chunk) => {
      received.push(chunk)
      socket.end()
    })
    socket.on('end', () => socket.end()).on('error', () => {})
    socket.on('close', () => resolve(Buffer.concat(received).toString('latin1')))
    socket.end(bytes)
  })
}
