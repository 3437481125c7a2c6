// The scheme "hmac": the configuration describes how the sender signs with a shared secret.
import { defineScheme, type SchemeProblem, type Static, Type } from 'svc-gateway/plugin'

const Text = (description: string, options: { default?: string } = {}) =>
  Type.Optional(Type.String({ pattern: String.raw`\S`, ...options, description }))

const Config = Type.Object({
  header: Text('the header with the token or signature.'),
  algorithm: Type.Optional(
    Type.Enum(['sha256', 'sha1', 'sha512'], { default: 'sha256', description: 'the hash. Default: `sha256`.' }),
  ),
  encoding: Type.Optional(
    Type.Enum(['hex', 'base64'], { default: 'hex', description: 'the encoding of the signature. Default: `hex`.' }),
  ),
  prefix: Type.Optional(Type.String({ description: 'the text before each signature, such as `sha256=`.' })),
  separator: Text('the text between several signatures in the header, such as `,`.'),
  signed: Text(
    'what is signed, a text with `{body}`, `{timestamp}`, `{method}`, `{url}`, `{headers.x-id}`. Default: `{body}`.',
    { default: '{body}' },
  ),
  timestampHeader: Text('the header with the time of signing.'),
  timestampPrefix: Text('the text before the time, if it is in the header of the signature, such as `t=`.'),
  timestampUnit: Type.Optional(
    Type.Enum(['s', 'ms'], { default: 's', description: 'the unit of the timestamp. Default: `s`.' }),
  ),
  secretEncoding: Type.Optional(
    Type.Enum(['utf8', 'hex', 'base64'], {
      default: 'utf8',
      description: 'the encoding of the secret. Default: `utf8`.',
    }),
  ),
})
type Settings = Static<typeof Config> & { url?: string }

export default defineScheme<Settings>({
  name: 'hmac',
  description: 'The configuration describes the signature.',
  config: Config,
  findProblems,
  signatures: ({ header = '', timestampHeader, timestampPrefix = '', timestampUnit, ...signature }) => [
    {
      ...signature,
      header: header.toLowerCase(),
      timestamp: signature.signed?.includes('{timestamp}')
        ? {
            ...(timestampHeader === undefined
              ? { prefix: timestampPrefix }
              : { header: timestampHeader.toLowerCase() }),
            unit: timestampUnit,
          }
        : undefined,
    },
  ],
})

function* findProblems({ header, signed = '{body}', url, ...rest }: Settings): Iterable<SchemeProblem> {
  const { timestampHeader, timestampPrefix } = rest
  if (header === undefined) yield { key: 'header', problem: 'is required for hmac; set the header with the signature' }
  if (url !== undefined && !signed.includes('{url}'))
    yield { key: 'url', problem: 'has no effect unless signed contains {url}; remove it' }
  const hasTimestamp = signed.includes('{timestamp}')
  const sourceCount = [timestampHeader, timestampPrefix].filter((one) => one !== undefined).length
  if (hasTimestamp && sourceCount === 0)
    yield { key: 'signed', problem: 'contains {timestamp}; set timestampHeader or timestampPrefix' }
  if (!hasTimestamp && sourceCount > 0)
    yield { key: 'signed', problem: 'must contain {timestamp}; otherwise anybody could change the time' }
  if (timestampPrefix !== undefined && timestampHeader === undefined && rest.separator === undefined)
    yield {
      key: 'separator',
      problem: 'is required with timestampPrefix; set the text between the time and the signature, such as ","',
    }
  if (sourceCount > 1)
    yield { key: 'timestampPrefix', problem: 'cannot be combined with timestampHeader; remove one of them' }
}
