// Verifies senders that show a secret instead of signing with it.
import type { HookAuth } from '../../config/schema/hook-auth.ts'
import { headerValue, type ReadHeader } from '../../http/auth.ts'
import { createMatcher } from '../../kit/matcher.ts'
import type { SignedRequest, TokenHeader, Verdict } from '../../plugin/plugin.ts'
import { createSecretRotation } from './secret-rotation.ts'
import { rejected } from './verifier.ts'

export function createTokenCheck(auth: HookAuth, tokens: readonly TokenHeader[]): (request: SignedRequest) => Verdict {
  const rotation = createSecretRotation(auth, createMatcher)
  const readers = tokens.map(createTokenReader)
  return ({ header, now }) => {
    const given = firstOf(readers, header)
    if (given === undefined) return rejected('the token is missing')
    const found = rotation.find(now, (matches) => matches(given))
    return found ? { ok: true, secretIndex: found.index } : rejected('the token is wrong')
  }
}

type ReadToken = (header: ReadHeader) => string | undefined

function firstOf(readers: readonly ReadToken[], header: ReadHeader): string | undefined {
  for (const read of readers) {
    const token = read(header)
    if (token !== undefined) return token
  }
  return undefined
}

function createTokenReader({ header: name, word }: TokenHeader): ReadToken {
  if (word === undefined) return (header) => headerValue(header(name) ?? '')
  const beginning = new RegExp(`^${RegExp.escape(word)}[ \\t]`, 'i')
  return (header) => {
    const value = header(name) ?? ''
    return beginning.test(value) ? headerValue(value.slice(word.length)) : undefined
  }
}
