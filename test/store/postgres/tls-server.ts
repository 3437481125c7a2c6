// A PostgreSQL server that accepts only TLS. Its certificate is for `localhost`, from a test authority. Its database
// `certified` asks for the certificate of the client instead of a password.
import { chmod, chown, copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type PostgresServer, serverUser, startPostgres } from '../../postgres.ts'

const fixtures = join(import.meta.dirname, '..', '..', 'fixtures', 'tls')

export const authority = join(fixtures, 'ca.crt')
export const otherAuthority = join(fixtures, 'other-ca.crt')
/** The certificate of the user `postgres`, which it signed itself, and its key. */
export const client = { certificate: join(fixtures, 'client.crt'), key: join(fixtures, 'client.key') }

export async function startTlsServer(): Promise<PostgresServer> {
  const dir = await mkdtemp(join(tmpdir(), 'postgres-tls-'))
  await chmod(dir, 0o755)
  const [cert, key, clients, access] = ['server.crt', 'server.key', 'clients.crt', 'pg_hba.conf'].map((name) =>
    join(dir, name),
  ) as [string, string, string, string]
  await copyFile(join(fixtures, 'server.crt'), cert)
  await copyFile(join(fixtures, 'server.key'), key)
  await copyFile(client.certificate, clients)
  // The server refuses a key that others can read.
  await chmod(key, 0o600)
  if (serverUser.uid !== undefined) await chown(key, serverUser.uid, -1)
  await writeFile(access, 'hostssl certified all all cert\nhostssl all all all scram-sha-256\n')
  const server = await startPostgres([
    'ssl=on',
    `ssl_cert_file=${cert}`,
    `ssl_key_file=${key}`,
    `ssl_ca_file=${clients}`,
    `hba_file=${access}`,
    'fsync=off',
  ])
  return {
    ...server,
    remove: async () => {
      await server.remove()
      await rm(dir, { recursive: true })
    },
  }
}
