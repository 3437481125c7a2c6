// Generating a missing credential and adding it to the configuration file.
import { readFileSync, statSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import JSON5 from 'json5'
import { describe, expect, it } from 'vitest'
import { readConfigFile } from '../../../core/config/file/read.ts'
import { addMissingCredential } from '../../../core/config/file/missing-credential.ts'
import { resolveConfig } from '../../../core/config/resolve.ts'
import { extensions, write } from '../document.ts'

function add(file: string, env: NodeJS.ProcessEnv = {}) {
  const document = readConfigFile(file, env)
  return addMissingCredential(document, resolveConfig(document, extensions).config.gateway.auth)
}

/** The text after a credential was added, with `<new>` for the credential. */
function after(text: string): string {
  const file = write(text)
  const credential = add(file)
  expect(credential?.value).toMatch(/^[\w-]{43}$/)
  return readFileSync(file, 'utf8').replace(credential?.value ?? '', '<new>')
}

describe('addMissingCredential', () => {
  it('adds the credential and preserves comments and formatting', () => {
    expect(after('{\n  // Where it listens\n  gateway: { // here\n    // the port\n    port: 1,\n  },\n}\n')).toBe(
      "{\n  // Where it listens\n  gateway: { // here\n    auth: { token: '<new>' },\n    // the port\n    " +
        'port: 1,\n  },\n}\n',
    )
    expect(after('{\n\tgateway: {\n\n\t\tauth: {\n\t\t\tmode: "token" } } }')).toBe(
      '{\n\tgateway: {\n\n\t\tauth: {\n\t\t\ttoken: \'<new>\',\n\t\t\tmode: "token" } } }',
    )
    expect(after('{ gateway: { auth: {} } }')).toBe("{ gateway: { auth: { token: '<new>' } } }")
    expect(after('{}')).toBe("{ gateway: { auth: { token: '<new>' } } }")
    expect(after('{ log: {} }')).toBe("{ gateway: { auth: { token: '<new>' } }, log: {} }")
    expect(after('// nothing yet\r\n{\r\n  log: {},\r\n}\r\n')).toBe(
      "// nothing yet\r\n{\r\n  gateway: { auth: { token: '<new>' } },\r\n  log: {},\r\n}\r\n",
    )
    expect(after('{"gateway":{"auth":{"mode":"password"}}}')).toBe(
      `{"gateway":{"auth":{ password: '<new>',"mode":"password"}}}`,
    )
  })

  it.each([
    '{\n}',
    '{ /* { gateway: { */ gateway: { /* auth: {} */ } }',
    '{ // gateway: {\n gateway: // {\n { // auth\n auth: // {\n {\n // nothing\n } } }',
    '{ \'gateway\': { "auth": {\n\n} } }',
    '{ gateway: { port: 1 }, }',
    '{ session: { mainKey: "gateway: {" }, gateway: { } // end\n}',
  ])('makes a file that is the same but for the credential: %j', (text) => {
    const next = JSON5.parse<{ gateway: { auth: { token: string } } }>(after(text))
    expect(next.gateway.auth.token).toBe('<new>')
    const { token: _, ...auth } = next.gateway.auth
    const before = JSON5.parse<{ gateway?: { auth?: object } }>(text)
    expect({ ...next, gateway: { ...next.gateway, auth } }).toEqual({
      ...before,
      gateway: { ...before.gateway, auth: { ...before.gateway?.auth } },
    })
  })

  it('keeps the file private and a symbolic link a link', () => {
    const file = write('{}', 0o644)
    const link = join(dirname(file), 'link.json5')
    symlinkSync(file, link)
    expect(add(link)?.mode).toBe('token')
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(readFileSync(link, 'utf8')).toBe(readFileSync(file, 'utf8'))
    expect(add(link)).toBeUndefined()
  })

  it('does nothing if the file or the environment has a credential', () => {
    const file = write("{ gateway: { auth: { password: 'a-password-that-is-long' } } }")
    expect(add(file)).toBeUndefined()
    const other = write('{}')
    expect(add(other, { SVC_GATEWAY_TOKEN: 'a-token-of-the-environment' })).toBeUndefined()
    expect(readFileSync(other, 'utf8')).toBe('{}')
  })

  it('explains what to do if the file cannot be written', () => {
    const file = write('{}')
    const document = readConfigFile(file, {})
    // A name that is too long for the temporary file fails for every user, also for root.
    const long = { ...document, file: join(dirname(file), 'x'.repeat(250)) }
    expect(() => addMissingCredential(long, { clients: [] })).toThrow(
      'gateway.auth.token is missing, and a new one cannot be written to the file (ENAMETOOLONG); set it or ' +
        'SVC_GATEWAY_TOKEN',
    )
    expect(readFileSync(file, 'utf8')).toBe('{}')
  })
})
