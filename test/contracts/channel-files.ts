// The checks of the channel contract about files that people send.
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'vitest'
import { type ChannelCheck, expectNext, expectNoSecrets, type Scene } from './channel-scene.ts'
import { createFile } from './said-file.ts'

const streamFiles = 'Return the answer of `fetch` or a stream from `read`, and read nothing before'

export function fileChecks<Config>(): ChannelCheck<Config>[] {
  return [
    {
      name: 'hands over files',
      advice:
        'Give each file of a message, also of a group, a thread or without a text, as an attachment with its name, ' +
        'its type and a `read` that downloads it.',
      needs: ['sayWithFile'],
      run: handsOverFiles,
    },
    {
      name: 'ends the download of a file that is larger than stated',
      advice: `${streamFiles}.`,
      needs: ['sayWithFile'],
      run: endsLargeDownloads,
    },
    {
      name: 'receives a message whose file cannot be downloaded whole',
      advice: `${streamFiles}: the gateway mentions a file that cannot be read. Let the double serve it with \`pipeline\`.`,
      needs: ['sayWithFile'],
      run: survivesBrokenDownloads,
    },
    {
      name: 'follows redirects of a download, without its credential to other hosts',
      advice:
        'Download with `fetchFile` of the kit: it sends the credential to the platform alone, also after a redirect.',
      needs: ['sayWithFile', 'redirectNextDownload'],
      run: followsRedirects,
    },
  ]
}

async function handsOverFiles<Config>(scene: Scene<Config>) {
  const { platform, gateway, can } = scene
  const sizes: number[] = []
  const fileOf = (name: string, bytes: number) => {
    sizes.push(bytes)
    return { ...createFile({ bytes, name }).file, size: bytes }
  }
  await platform.sayWithFile?.('See the plan.', fileOf('plan.txt', 100_000))
  expect((await gateway.next()).text).toMatch(/^See the plan\.\n\n\[Attached file: plan\.txt, .*; stored in your /)
  await platform.sayWithFile?.('', fileOf('silent.txt', 10))
  expect((await gateway.next()).text).toMatch(/^\[Attached file: silent\.txt, .*; stored in your workspace /)
  for (const place of ['group', 'thread'] as const) {
    if (!can(place === 'group' ? 'sayInGroup' : 'sayInThread')) continue
    const bytes = 11 + sizes.length
    const { file } = createFile({ bytes, name: `${place}.txt` })
    const result = await platform.sayWithFile?.(`In a ${place}.`, file, place)
    const message = await gateway.next()
    const line = result === 'withheld' ? '.*; not stored, ' : `${place}\\.txt, .*; stored in `
    expect(message.text).toMatch(new RegExp(`^In a ${place}\\.\\n\\n\\[Attached file: ${line}`))
    if (result !== 'withheld') sizes.push(bytes)
    expect(message[place === 'group' ? 'group' : 'threadId'], `the ${place} of the message`).toBeDefined()
  }
  if (can('sayWithFiles')) {
    await platform.sayWithFiles?.('Three plans.', [fileOf('a.txt', 21), fileOf('b.txt', 22), fileOf('c.txt', 23)])
    expect((await gateway.next()).text).toMatch(
      /^Three plans\.(?:\s*\[Attached file: [abc]\.txt, .*; stored in .*\]){3}$/,
    )
  }
  expect(gateway.files.map(({ length }) => length).toSorted((a, b) => a - b)).toEqual(sizes.toSorted((a, b) => a - b))
  for (const data of gateway.files) expect(Buffer.from(data).toString()).toBe('x'.repeat(data.length))
}

/** The platform, or a person, says that the file has five bytes. */
async function endsLargeDownloads<Config>({ platform, gateway }: Scene<Config>) {
  const { file, served } = createFile({ bytes: 128 * MiB })
  await platform.sayWithFile?.('See the plan.', file)
  expect((await gateway.next()).text).toMatch(
    /^See the plan\.\n\n\[Attached file: plan\.txt, .*; not stored, because it is larger than 20\.0 MiB\]$/,
  )
  // What was under way when the download ended counts, too.
  expect(served.bytes).toBeLessThan(64 * MiB)
  expect(gateway.files).toEqual([])
}

const MiB = 1024 * 1024

async function survivesBrokenDownloads<Config>({ platform, gateway, can }: Scene<Config>) {
  const { file } = createFile({ bytes: MiB, breaksOff: true })
  await platform.sayWithFile?.('See the plan.', file)
  expect((await gateway.next()).text).toMatch(/^See the plan\.\n\n\[Attached file: plan\.txt, /)
  if (can('say')) await expectNext({ platform, gateway }, 'later')
}

/** Platforms redirect to their own file servers, and to those of others. */
async function followsRedirects<Config>({ platform, gateway }: Scene<Config>) {
  const say = (name: string) => platform.sayWithFile?.('See the plan.', createFile({ bytes: 5, name }).file)
  platform.redirectNextDownload?.()
  await say('plan.txt')
  expect((await gateway.next()).text).toMatch(/^See the plan\.\n\n\[Attached file: plan\.txt, .*; stored in your /)
  const other = await openOtherHost()
  try {
    platform.redirectNextDownload?.(`${other.url}/other.txt`)
    await say('other.txt')
    expect((await gateway.next()).text).toMatch(/^See the plan\.\n\n\[Attached file: other\.txt, /)
    for (const headers of other.requests) expect(Object.keys(headers)).not.toContain('authorization')
    expectNoSecrets(gateway, JSON.stringify(other.requests))
  } finally {
    other.close()
  }
}

async function openOtherHost() {
  const requests: (IncomingHttpHeaders & { path: string | undefined })[] = []
  const server = createServer((request, response) => {
    requests.push({ ...request.headers, path: request.url })
    response.end('other')
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url, requests, close: () => void (server.closeAllConnections(), server.close()) }
}
