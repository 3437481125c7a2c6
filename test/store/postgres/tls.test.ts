// TLS to the PostgreSQL database, and the ways to give its password: what is accepted, and how a start is refused.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { run } from '../../cli/command-line.ts'
import { spawnGateway, startGateway, temporaryFolder, writeConfig } from '../../helpers.ts'
import { query } from '../../postgres.ts'
import { closeAtEnd, share } from '../../share.ts'
import { silent } from '../acknowledging.ts'
import { openStore } from '../open-store.ts'
import { authority, client, otherAuthority, startTlsServer } from './tls-server.ts'

const server = share(async () => {
  const started = await startTlsServer()
  closeAtEnd(started.remove)
  return started
})

/** The URL of the server, with these parameters. The server listens on 127.0.0.1, which is `localhost`. */
function urlOf(parameters: string, { host = 'localhost', password = true } = {}): string {
  const url = new URL(server().url)
  url.hostname = host
  if (!password) url.password = ''
  return `${url.href}?${parameters}`
}

const verified = `sslmode=verify-full&sslrootcert=${authority}`
const passwordOf = () => new URL(server().url).password

/** Starts a gateway as a process of its own, which reads PGPASSWORD and prints what it does. */
async function spawnOn(storageUrl: string, env: NodeJS.ProcessEnv = {}) {
  const gateway = await spawnGateway(writeConfig(temporaryFolder(), { storage: { url: storageUrl } }), { env })
  onTestFinished(async () => void (await gateway.end('SIGKILL')))
  return gateway
}

const isEncrypted = `SELECT bool_and(ssl) AS yes FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
  WHERE application_name = 'svc-gateway'`

const expectEncrypted = async () =>
  expect(await query(urlOf('sslmode=require&uselibpqcompat=true'), isEncrypted)).toEqual([{ yes: true }])

describe('a gateway whose database accepts only TLS', () => {
  it.each([
    ['sslmode=require', 'sslmode=require', 'localhost'],
    ['sslmode=verify-ca, also with another host', `sslmode=verify-ca&sslrootcert=${authority}`, '127.0.0.1'],
  ])('encrypts its connections with %s', async (_mode, parameters, host) => {
    const { get, logged } = await startGateway({ storage: { url: urlOf(parameters, { host }) } })
    expect((await get('/readyz')).status).toBe(200)
    await expectEncrypted()
    expect(logged.filter((line) => line.includes(passwordOf()))).toEqual([])
  })

  it('encrypts its connections with sslmode=verify-full, and prints no password', async () => {
    const gateway = await spawnOn(urlOf(verified))
    expect((await fetch(`${gateway.url}/readyz`)).status).toBe(200)
    await expectEncrypted()
    await gateway.end('SIGTERM')
    expect([...gateway.output, ...gateway.log].filter((line) => line.includes(passwordOf()))).toEqual([])
  })

  it('reads the URL with its password from a file', async () => {
    const dir = temporaryFolder()
    writeFileSync(join(dir, 'database-url'), `${urlOf(verified)}\n`, { mode: 0o600 })
    const { get } = await startGateway({ storage: { url: { file: 'database-url' } } }, dir)
    expect((await get('/readyz')).status).toBe(200)
  })

  it('takes the password from PGPASSWORD', async () => {
    const gateway = await spawnOn(urlOf(verified, { password: false }), { PGPASSWORD: passwordOf() })
    expect((await fetch(`${gateway.url}/readyz`)).status).toBe(200)
  })

  it('shows the certificate of sslcert and sslkey instead of a password', async () => {
    await query(urlOf(verified), 'CREATE DATABASE certified')
    const url = new URL(urlOf(`${verified}&sslcert=${client.certificate}&sslkey=${client.key}`, { password: false }))
    url.pathname = '/certified'
    const { get } = await startGateway({ storage: { url: url.href } })
    expect((await get('/readyz')).status).toBe(200)
  })
})

describe('the database is refused, with one sentence,', () => {
  const sentences = /^The PostgreSQL database of storage\.url cannot be used: .+\.$/

  const unknownAuthority =
    "its certificate is not signed by a known authority; name the authority's file with sslrootcert in the URL."

  it.each([
    ['without TLS', 'sslmode=disable', {}, /no pg_hba\.conf entry for .*, no encryption\.$/],
    ['with a wrong authority', `sslmode=verify-full&sslrootcert=${otherAuthority}`, {}, unknownAuthority],
    ['without the authority', 'sslmode=verify-full', {}, unknownAuthority],
    [
      'with a wrong authority and sslmode=require',
      `sslmode=require&sslrootcert=${otherAuthority}`,
      {},
      unknownAuthority,
    ],
    ['with another host', verified, { host: '127.0.0.1' }, 'its certificate is for another host; use a host that'],
    [
      'if the file of the authority is missing',
      'sslmode=verify-full&sslrootcert=/no/ca.crt',
      {},
      'the file /no/ca.crt of',
    ],
    [
      'without a password',
      verified,
      { password: false },
      'it asks for a password; add one to the URL, or set PGPASSWORD.',
    ],
    [
      'if the key of the client is missing',
      `${verified}&sslcert=${client.certificate}&sslkey=/no/client.key`,
      {},
      'the file /no/client.key of sslrootcert, sslcert or sslkey cannot be read (ENOENT); correct the path in the URL.',
    ],
    [
      'if a file holds no certificate',
      `${verified}&sslcert=${import.meta.filename}&sslkey=${client.key}`,
      {},
      'a file of sslrootcert, sslcert or sslkey is not in PEM format; correct the path in the URL.',
    ],
    [
      'with the key of another certificate',
      `${verified}&sslcert=${authority}&sslkey=${client.key}`,
      {},
      'sslkey is not the key of sslcert; correct the paths in the URL.',
    ],
  ])('%s', async (...[, parameters, options, sentence]) => {
    const url = urlOf(parameters, options)
    const refused = await openStore({ url, dir: temporaryFolder(), log: silent }).catch((error: Error) => error)
    const { message } = refused as Error
    expect(message).toMatch(sentences)
    expect(message).toMatch(sentence)
    expect(inspect(refused, { depth: 9 })).not.toContain(passwordOf())
  })

  it('which is all that a start prints', async () => {
    const dir = temporaryFolder()
    writeConfig(dir, { storage: { url: urlOf('sslmode=verify-full') } })
    const { code, stdout, stderr } = await run(dir, ['start'])
    expect({ code, stdout, sentence: stderr.trimEnd() }).toEqual({
      code: 1,
      stdout: '',
      sentence: expect.stringMatching(sentences),
    })
    expect(stderr).toContain(unknownAuthority)
    expect(stderr).not.toContain(passwordOf())
  })
})
