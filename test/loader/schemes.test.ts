// Faulty schemes are refused with one sentence that names the field and the fix.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { loadExtensions } from '../../core/loader/registry.ts'
import { findFaults } from '../../core/loader/verify.ts'
import { defineScheme, type Signature, Type } from '../../core/plugin/plugin.ts'
import { createTestContext } from '../contracts/context.ts'
import { temporaryFolder } from '../helpers.ts'

const faultsOf = (fields: object): string =>
  findFaults({ kind: 'scheme', name: 'odd', description: 'Odd.', ...fields })
    .map(({ problem }) => problem)
    .join('\n')

const signed = (fields: object) => ({ signatures: [{ header: 'x-sign', ...fields } as Signature] })
const time = { header: 'x-time' }

describe('a scheme', () => {
  it.each([
    [{}, 'it must declare one of `signatures`, `tokens` and `createVerifier`'],
    [{ ...signed({}), tokens: [{ header: 'x' }] }, 'it must declare one of'],
    [{ signatures: [] }, '`signatures` must be a list with at least one entry'],
    [{ signatures: ['x'] }, 'in `signatures[0]`, an entry must be an object'],
    [signed({ header: undefined }), 'in `signatures[0]`, `header` must be the name of a header in lower case'],
    [signed({ header: 'X-Sign' }), '`header` must be the name of a header in lower case'],
    [signed({ algorithm: 'md5' }), '`algorithm` must be "sha256", "sha1", "sha512", "ed25519"'],
    [signed({ encoding: 'utf8' }), '`encoding` must be "hex", "base64", "base64url"'],
    [signed({ secretEncoding: 'base32' }), '`secretEncoding` must be "utf8", "hex", "base64"'],
    [signed({ prefix: 5 }), '`prefix` must be a text'],
    [signed({ separator: '' }), '`separator` must not be empty'],
    [signed({ signed: 5 }), '`signed` must be a text or a function'],
    [signed({ signed: '{url}' }), '`signed` must contain {body}'],
    [signed({ signed: '{body}{nonce}' }), '`signed` may contain {body}, {timestamp}'],
    [signed({ signed: '{timestamp}{body}' }), 'say in `timestamp` where the time is'],
    [signed({ timestamp: time }), '`signed` must contain {timestamp}'],
    [signed({ timestamp: { ...time, field: 'at' } }), '`timestamp` must have one of'],
    [signed({ signed: '{timestamp}{body}', timestamp: { ...time, unit: 'min' } }), '`timestamp.unit` must be'],
    [signed({ signed: '{timestamp}{body}', timestamp: { ...time, toleranceSeconds: -1 } }), 'a number above 0'],
    [signed({ signed: '{timestamp}{body}', timestamp: { header: 'X-Time' } }), '`timestamp.header` must be the name'],
    [signed({ id: 'x-id' }), '`signed` must contain {headers.x-id}'],
    [{ tokens: [{ header: 'Authorization' }] }, 'in `tokens[0]`, `header` must be the name of a header in lower case'],
    [{ tokens: [{ header: 'authorization', word: '' }] }, '`word` must be a text'],
    [
      signed({ secretencoding: 'hex' }),
      'in `signatures[0]`, `secretencoding` is not a member of an entry; did you mean',
    ],
    [{ tokens: [{ header: 'x', words: 'Token' }] }, 'in `tokens[0]`, `words` is not a member of an entry'],
    [
      { ...signed({}), acknowlege: () => 'ok' },
      '`acknowlege` is not a member of a scheme; did you mean `acknowledge`?',
    ],
    [{ createVerifier: 5 }, '`createVerifier` must be a function'],
    [{ createVerifier() {}, hiddenHeaders: ['X'] }, 'in `hiddenHeaders[0]`'],
    [{ createVerifier() {}, covers: ['time'] }, '`covers` must be a list of "body" and "url"'],
    [{ createVerifier() {}, secret: true }, '`secret` must say what a valid secret is'],
    [{ ...signed({}), sign: 'x' }, '`sign` must be a function'],
    [
      { ...signed({}), config: Type.Object({ secret: Type.String() }) },
      'declares "secret", which every scheme already has',
    ],
    [{ ...signed({}), config: Type.String() }, '`config` must be the schema of an object'],
    [{ ...signed({}), description: '' }, '`description` is missing'],
    [{ ...signed({}), name: 'Odd One' }, 'its name must be lower-case letters'],
  ])('is refused: %j', (fields, sentence) => expect(faultsOf(fields)).toContain(sentence))

  it.each([
    [signed({})],
    [signed({ signed: '{timestamp}.{body}', timestamp: { prefix: 't=' } })],
    [signed({ timestamp: { field: 'sentAt' } })],
    [signed({ signed: () => 'x', timestamp: time, id: 'x-id' })],
    [signed({ signed: '{headers.X-Id}{body}', id: 'x-id' })],
    [{ signatures: () => [] }],
    [{ tokens: [{ header: 'authorization', word: 'Token' }] }],
  ])('is accepted: %j', (fields) => expect(faultsOf(fields)).toBe(''))

  it('is what defineScheme returns', () => {
    expect(findFaults(defineScheme({ name: 'odd', description: 'Odd.', ...signed({}) }))).toEqual([])
  })

  it('of a name that is taken is refused, and the message says who has it', async () => {
    const dir = temporaryFolder()
    const code = (name: string) =>
      `export default { kind: 'scheme', name: '${name}', description: 'Odd.', tokens: [{ header: 'x' }] }`
    writeFileSync(join(dir, 'a.mjs'), code('github'))
    writeFileSync(join(dir, 'b.mjs'), code('odd'))
    writeFileSync(join(dir, 'c.mjs'), code('odd'))
    const plugins = ['./a.mjs', './b.mjs', './c.mjs']
    const extensions = await loadExtensions({ plugins, dir, log: createTestContext().log })
    extensions.close()
    expect(extensions.problems).toEqual([
      'The scheme "github" from "./a.mjs" was refused: "svc-gateway" already has one of that name; rename it, or remove ' +
        'one of the two from `plugins`.',
      'The scheme "odd" from "./c.mjs" was refused: "./b.mjs" already has one of that name; rename it, or remove one of ' +
        'the two from `plugins`.',
    ])
    expect(extensions.schemes.get('github')?.signatures).toBeDefined()
  })
})
