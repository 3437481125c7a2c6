// The command `clients`: a token works once it is added, keeps to its role, and is refused when it is revoked.
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { ask, gatewayToken, startGatewayOn, temporaryFolder } from '../helpers.ts'
import { run } from './command-line.ts'
import { runHere } from './in-process.ts'

const text = (auth: string) => `// The gateway of the house.
{
  gateway: { port: 0, auth: ${auth} },
  agents: { main: {}, ops: {} }, // two agents
}
`

function write(auth: string) {
  const folder = temporaryFolder()
  const file = join(folder, 'gateway.json5')
  writeFileSync(file, text(auth), { mode: 0o600 })
  const clients = (...args: string[]) => runHere(folder, ['clients', ...args, '--config', file])
  return { folder, file, clients, read: () => readFileSync(file, 'utf8') }
}

it('adds a client that works after a reload, and revokes it', async () => {
  const { folder, file, clients, read } = write(`{ token: '${gatewayToken}' }`)
  const { gateway, url } = await startGatewayOn(file)
  const { stdout, stderr } = await run(folder, ['clients', 'add', 'dashboard', '--agent', 'ops', '--config', file])
  const token = stdout.trim()
  expect(token).toMatch(/^[\w-]{43}$/)
  expect(stderr).toContain('Added dashboard (viewer, agent ops).')
  expect(read()).not.toContain(token)
  expect(read()).toContain(`sha256:${createHash('sha256').update(token).digest('hex')}`)
  await gateway.reload()
  const get = (path: string) => ask(`${url}${path}`, { headers: { authorization: `Bearer ${token}` } })
  expect([(await get('/api/runs')).status, (await get('/api/config')).status]).toEqual([200, 403])
  // A gateway that is not at the port of the file is not found.
  const lost = await clients('list')
  expect(lost.stdout).toBe('dashboard  viewer  ops  no  never  unknown\n')
  expect(lost.stderr).toContain('It is not known when the clients were last used.')
  const found = await clients('list', '--url', url, '--token', gatewayToken)
  expect(found.stdout).toMatch(/^dashboard {2}viewer {2}ops {2}no {2}never {2}20\S+Z\n$/)
  expect((await clients('revoke', 'dashboard')).code).toBe(0)
  await gateway.reload()
  expect((await get('/api/runs')).status).toBe(401)
  expect((await clients('list', '--json')).stdout).toBe('')
})

it('keeps comments, order and the other clients', async () => {
  const old = `{ name: 'old', token: 'token-of-the-old-client-0123456789', role: 'admin' }`
  const lists = [
    `{ token: '${gatewayToken}', clients: [${old}] }`,
    `{ token: '${gatewayToken}', clients: [${old},] }`,
    `{ token: '${gatewayToken}', clients: [\n      // the oldest\n      ${old}, // and only\n    ] }`,
    `{ token: '${gatewayToken}', clients: [\n      // the oldest\n      ${old} // without a comma\n    ] }`,
    `{ token: '${gatewayToken}', clients: [] }`,
  ]
  for (const list of lists) {
    const { clients, read } = write(list)
    expect(await clients('add', 'new', '--role', 'operator', '--not-after', '90d')).toMatchObject({ code: 0 })
    const names = async () =>
      (await clients('list', '--json')).stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).name)
    expect(await names()).toEqual(list.includes('old') ? ['old', 'new'] : ['new'])
    for (const [comment] of list.matchAll(/\/\/.*/g)) expect(read()).toContain(comment)
    expect(read()).toContain('// The gateway of the house.')
    expect((await clients('revoke', 'new')).code).toBe(0)
    const withoutCommas = (one: string) => one.replaceAll(/[\s,]/g, '')
    expect(withoutCommas(read())).toBe(withoutCommas(text(list)))
  }
})

it('says what is wrong, and writes nothing', async () => {
  const { clients, read } = write(`{ token: '${gatewayToken}', clients: [] }`)
  const before = read()
  const problems = [
    [['add', 'gateway'], 'is the name of the credential of the gateway itself'],
    [['add', 'x', '--agent', 'op'], 'names "op", which is no agent; did you mean "ops"?'],
    [['add', 'x', '--not-after', '2020-01-01'], 'It must be days such as 90d, or a time in the future'],
    [['add', 'x', '--role', 'king'], 'viewer, operator, admin'],
    [['revoke', 'x'], 'There is no client with the name "x".'],
  ] as const
  for (const [args, problem] of problems) {
    const { code, stdout, stderr } = await clients(...args)
    expect([code === 0, stdout]).toEqual([false, ''])
    expect(stderr).toContain(problem)
  }
  expect(read()).toBe(before)
  await clients('add', 'x')
  expect((await clients('add', 'x')).stderr).toContain('There is a client with the name "x" already')
})
