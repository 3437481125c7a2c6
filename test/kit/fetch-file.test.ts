// Downloads through redirects: which are followed, and who gets the credential.
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { fetchFile } from '../../core/kit/kit.ts'

async function serve(answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void (server.closeAllConnections(), server.close()))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const { signal } = new AbortController()
const headers = { authorization: 'Bearer canary' }

it('sends the credential again when a redirect comes back to the platform', async () => {
  const seen: unknown[] = []
  const other = await serve((request, response) => {
    seen.push(['other', request.headers.authorization])
    response.writeHead(307, { location: `${own}/end` }).end()
  })
  const own: string = await serve((request, response) => {
    seen.push(['own', request.headers.authorization])
    if (request.url === '/end') response.end('bytes')
    else response.writeHead(302, { location: request.url === '/' ? 'next' : other }).end()
  })
  const response = await fetchFile(own, { isOwn: ({ origin }) => origin === own, headers, signal })
  expect(await response.text()).toBe('bytes')
  expect(seen).toEqual([
    ['own', 'Bearer canary'],
    ['own', 'Bearer canary'],
    ['other', undefined],
    ['own', 'Bearer canary'],
  ])
})

it.each([
  ['in a circle', '/', 'The platform redirects the file more than 5 times.'],
  ['to nowhere', '', 'The platform redirects the file more than 5 times.'],
  ['to another protocol', 'file:///etc/passwd', 'The platform redirects the file to an address that is not safe.'],
  ['to no address', 'http://[', 'The platform redirects the file to an address that is not safe.'],
])('rejects a redirect %s', async (_what, location, message) => {
  let count = 0
  const url = await serve((_request, response) => {
    count++
    response.writeHead(302, { location }).end()
  })
  await expect(fetchFile(url, { isOwn: () => true, headers, signal })).rejects.toThrow(message)
  expect(count).toBeLessThan(7)
})

it('rejects with an error that holds no address, and with the reason of the signal', async () => {
  const url = await serve((request) => request.socket.destroy())
  const error: unknown = await fetchFile(`${url}/canary`, { isOwn: () => true, signal }).catch((one: unknown) => one)
  expect(error).toEqual(new Error('The file could not be downloaded.'))
  expect((error as Error).cause).toBeUndefined()
  const ended = AbortSignal.abort(new Error('too late'))
  await expect(fetchFile(url, { isOwn: () => true, signal: ended })).rejects.toThrow('too late')
})
