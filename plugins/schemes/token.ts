// The scheme "token": the sender shows a secret of its own, as it would show the hook token, or in a header of choice.
import { defineScheme, type Static, type TokenHeader, Type } from 'svc-gateway/plugin'

const Config = Type.Object({
  header: Type.Optional(
    Type.String({ pattern: String.raw`\S`, description: 'the header with the token or signature.' }),
  ),
})

const usual: readonly TokenHeader[] = [{ header: 'authorization', word: 'Bearer' }, { header: 'x-svc-token' }]

export default defineScheme<Static<typeof Config>>({
  name: 'token',
  description: 'The sender shows a secret.',
  config: Config,
  tokens: ({ header }) => (header === undefined ? usual : [{ header: header.toLowerCase() }, ...usual]),
})
